import { describe, expect, test } from "@jest/globals";
import type { Db } from "../../../../sql/db.js";
import type { Bakery, Character } from "../../../support/cast.js";

process.env["ORDERS_OPEN_MAX"] = "4";

const { sql, transaction } = await import("../../../../sql/db.js");
const { placeOrder } = await import("../../../../sql/queries/orders.js");
const { findCustomer, insertPosOrder } = await import("../../../../sql/queries/pos-orders.js");
const { runUpkeep } = await import("../../../../workers/upkeep.js");
const { outcome } = await import("../../../support/api.js");
const { addMenuItem, bakery, listBox, user } = await import("../../../support/cast.js");
const { client } = await import("../../../support/order-scene.js");
const { order, stockOf } = await import("../../../support/orders.js");
const { addPast, idAt } = await import("../../../support/past.js");
const { task } = await import("../../../support/task.js");

const repeat = <T>(times: number, act: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: times }, (_, n) => act(n)));
const counted = (outcomes: string[], wanted: string) => outcomes.filter((each) => each === wanted).length;
const complete = (seller: Bakery, id: string) =>
  seller.owner.client.put(`/api/v1/orders/${id}/status`, { status: "COMPLETED" });

describe("a box with maxPerCustomer", () => {
  const scene = async (maxPerCustomer: number) => {
    const seller = await bakery(client);
    const box = await listBox(seller, { price: 1, quantity: 50, maxPerCustomer });
    return { seller, box, take: (buyer: Character, qty = 1) => order(buyer, seller, [{ boxId: box, qty }], qty) };
  };

  test("gives one customer that many pieces, over any number of concurrent orders, and another their own share", async () => {
    const { box, take } = await scene(3);
    const [anna, boris] = [await user(client), await user(client)];
    const replies = await repeat(4, () => take(anna, 2));
    expect(replies.map(outcome).sort()).toEqual(["201", "409 CONFLICT", "409 CONFLICT", "409 CONFLICT"]);
    expect(replies.find(({ status }) => status === 409)?.body["limited"]).toEqual([
      { menuItemId: box, maxPerCustomer: 3, remaining: 1 },
    ]);
    expect(outcome(await take(anna))).toBe("201");
    expect((await take(anna)).body["limited"]).toEqual([{ menuItemId: box, maxPerCustomer: 3, remaining: 0 }]);
    expect(outcome(await take(boris, 4))).toBe("409 CONFLICT");
    expect(outcome(await take(boris, 3))).toBe("201");
    expect(await stockOf(box)).toMatchObject({ available: 44, reserved: 6 });
  });

  test("counts collected pieces, and no longer cancelled ones", async () => {
    const { seller, take } = await scene(1);
    const anna = await user(client);
    const cancelled = (await take(anna)).string("orderId");
    await seller.owner.client.post(`/api/v1/orders/${cancelled}/cancel`);
    const collected = (await take(anna)).string("orderId");
    await complete(seller, collected);
    expect(outcome(await take(anna))).toBe("409 CONFLICT");
  });

  test("reads none of the customer's cancelled orders, of which there may be any number", async () => {
    const { seller, box, take } = await scene(1);
    const anna = await user(client);
    const item = await addMenuItem(seller, { price: 1 });
    for (let n = 0; n < 3; n += 1) {
      const cancelled = await order(anna, seller, [{ menuItemId: item, qty: 1 }], 1);
      await anna.client.post(`/api/v1/orders/${cancelled.string("orderId")}/cancel`);
    }
    const [plan] = await sql<{ "QUERY PLAN": string }[]>`
      explain (format json) select * from orders_not_cancelled_since(now() - interval '1 day', array[${anna.id}::uuid])`;
    expect(JSON.stringify(plan)).toContain("orders_not_cancelled");
    const read = await sql`select from orders_not_cancelled_since(now() - interval '1 day', array[${anna.id}::uuid])`;
    expect(read).toHaveLength(0);
    expect(outcome(await take(anna))).toBe("201");
    expect(await stockOf(box)).toMatchObject({ reserved: 1 });
  });

  test("repeats the answer to a repeated request", async () => {
    const { seller, box } = await scene(1);
    const anna = await user(client);
    const send = () => order(anna, seller, [{ boxId: box, qty: 1 }], 1, "the-only-one");
    expect([outcome(await send()), outcome(await send())]).toEqual(["201", "409 DUPLICATE"]);
  });
});

describe("a customer's open orders", () => {
  test("are bounded, whatever they are for and however many come at once; a closed one makes room", async () => {
    const sellers = await repeat(2, () => bakery(client));
    const items = await Promise.all(sellers.map((seller) => addMenuItem(seller, { price: 1 })));
    const anna = await user(client);
    const take = (n: number) => order(anna, sellers[n % 2]!, [{ menuItemId: items[n % 2]!, qty: 1 }], 1);
    const replies = await repeat(12, take);
    expect(counted(replies.map(outcome), "201")).toBe(4);
    const refused = await take(0);
    expect(refused.body).toMatchObject({ status: 409, code: "CONFLICT" });
    expect(refused.string("detail")).toContain("You have 4 open orders");
    const [first, second] = replies.filter(({ status }) => status === 201).map((reply) => reply.string("orderId"));
    await anna.client.post(`/api/v1/orders/${first}/cancel`);
    for (const seller of sellers) await complete(seller, second!);
    expect((await repeat(4, take)).map(outcome).sort()).toEqual(["201", "201", "409 CONFLICT", "409 CONFLICT"]);
    expect(outcome(await order(await user(client), sellers[0]!, [{ menuItemId: items[0]!, qty: 1 }], 1))).toBe("201");
  });

  test("do not include those that a till took in the customer's name, nor limit them", async () => {
    const seller = await bakery(client);
    const item = await addMenuItem(seller, { price: 1 });
    const anna = await user(client);
    const atTill = async (n: number) => {
      const placed = await placeOrder(sql, {
        ...{ userId: anna.id, partnerId: seller.id, items: [{ id: item, qty: 1 }], totalMinor: 100 },
        ...{ address: null, promoCode: null, takenElsewhere: true, idempotency: null, pickupCode: "000000" },
        requestId: null,
      });
      if (placed.outcome !== "PLACED") throw new Error(placed.outcome);
      const till = { partnerId: seller.id, provider: "generic", account: "till" };
      await insertPosOrder(sql, till, `order ${n}`, placed.orderId);
    };
    for (let n = 0; n < 6; n += 1) await atTill(n);
    const replies = await repeat(6, () => order(anna, seller, [{ menuItemId: item, qty: 1 }], 1));
    expect(counted(replies.map(outcome), "201")).toBe(4);
    await atTill(6);
  });
});

describe("reads few orders of a customer with thousands:", () => {
  /** The rows of `orders` that `work` reads. */
  const countRead = (work: (tx: Db) => Promise<unknown>) =>
    transaction(async (tx) => {
      await work(tx);
      const [read] = await tx<{ rows: number }[]>`
        select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::integer as rows
        from pg_stat_xact_user_tables where relname = 'orders'`;
      return read?.rows;
    });

  const scene = async (status: "CANCELLED" | "COMPLETED", daysAgo: number) => {
    const seller = await bakery(client);
    const anna = await user(client);
    const at = new Date(Date.now() - daysAgo * 86_400_000);
    const past = { userId: anna.id, partnerId: seller.id, status, at, lines: [] };
    const amounts = { totalMinor: 1, discountMinor: 0, commissionMinor: 0 };
    const orders = Array.from({ length: 2_000 }, (_, n) => ({ id: idAt(at.getTime() + n), ...past, ...amounts }));
    await addPast(sql, [], orders);
    return { seller, anna };
  };

  test("an order of one who cancelled them", async () => {
    const { seller, anna } = await scene("CANCELLED", 1);
    const item = await addMenuItem(seller, { price: 1 });
    const placing = {
      ...{ userId: anna.id, partnerId: seller.id, items: [{ id: item, qty: 1 }], totalMinor: 100 },
      ...{ address: null, promoCode: null, takenElsewhere: false, idempotency: null, pickupCode: "000000" },
      requestId: null,
    };
    expect(await countRead((tx) => placeOrder(tx, placing))).toBeLessThan(10);
  });

  test("a till's order for one who collected them", async () => {
    const { seller, anna } = await scene("COMPLETED", 10);
    expect(await countRead((tx) => findCustomer(tx, anna.phone, seller.id, 10))).toBeLessThan(10);
  });
});

describe("a customer with no-shows", () => {
  const scene = async (customer?: Character) => {
    const anna = customer ?? (await user(client));
    const seller = await bakery(client);
    const item = await addMenuItem(seller, { price: 1 });
    const take = () => order(anna, seller, [{ menuItemId: item, qty: 1 }], 1);
    /** Places this many orders and does not pick them up. */
    const miss = async (times: number) => {
      const ids = (await repeat(times, take)).map((reply) => reply.string("orderId"));
      await sql`update orders set no_show_at = now() - interval '1 second' where id = any (${ids}::uuid[])`;
      await runUpkeep(task({ task: "no-shows" }));
      return ids;
    };
    return { anna, seller, take, miss };
  };

  test("may have one open order at a time after the third in 30 days", async () => {
    const { take, miss } = await scene();
    await miss(2);
    expect((await repeat(2, take)).map(outcome)).toEqual(["201", "201"]);
    await sql`update orders set status = 'CANCELLED' where status = 'ACCEPTED'`;
    await miss(1);
    expect((await repeat(3, take)).map(outcome).sort()).toEqual(["201", "409 CONFLICT", "409 CONFLICT"]);
    expect((await take()).string("detail")).toContain("You did not pick up 3 orders");
  });

  test("may have as many as others when one of the three is of an order of more than 30 days ago", async () => {
    const { anna, seller, take, miss } = await scene();
    await miss(2);
    const at = new Date(Date.now() - 31 * 86_400_000);
    const old = { id: idAt(at.getTime()), userId: anna.id, partnerId: seller.id, status: "NO_SHOW" as const, at };
    await addPast(sql, [], [{ ...old, totalMinor: 1, discountMinor: 0, commissionMinor: 0, lines: [] }]);
    expect((await repeat(4, take)).map(outcome)).toEqual(["201", "201", "201", "201"]);
  });

  test("may order elsewhere as before when all were at one partner, which may not have completed their orders", async () => {
    const { anna, take, miss } = await scene();
    await miss(4);
    const elsewhere = await scene(anna);
    expect((await repeat(2, elsewhere.take)).map(outcome)).toEqual(["201", "201"]);
    expect((await take()).string("detail")).toContain("You did not pick up 4 orders");
  });

  test("may have one open order anywhere when they were at three partners", async () => {
    const { anna, take, miss } = await scene();
    await miss(1);
    for (let n = 0; n < 2; n += 1) await (await scene(anna)).miss(1);
    const elsewhere = await scene(anna);
    expect((await repeat(2, elsewhere.take)).map(outcome).sort()).toEqual(["201", "409 CONFLICT"]);
    expect(outcome(await take())).toBe("409 CONFLICT");
  });
});
