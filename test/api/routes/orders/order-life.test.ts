import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { type Client, outcome, type Reply, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { task } from "../../../support/task.js";

let api: Awaited<ReturnType<typeof startApi>>;
let bakery: cast.Bakery;
let customer: cast.Character;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

beforeEach(async () => {
  [bakery, customer] = await Promise.all([cast.bakery(api.client), cast.user(api.client)]);
});

const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();
/** A box whose pickup window opens in `opens` hours. */
const listBox = (opens: number, fields: Record<string, unknown> = {}) =>
  cast.listBox(bakery, { pickupWindowStart: hours(opens), pickupWindowEnd: hours(opens + 2), quantity: 3, ...fields });

async function order(items: Record<string, unknown>[], totalAmount: number, by = customer): Promise<Reply> {
  const reply = await by.client.post("/api/v1/orders", { items, totalAmount, partnerId: bakery.id });
  expect([reply.status, reply.text]).toEqual([201, expect.anything()]);
  return reply;
}

const orderBoxes = async (boxId: string, qty = 1) => (await order([{ boxId, qty }], 249.9 * qty)).string("orderId");

async function orderBread(): Promise<string> {
  const menuItemId = await cast.addMenuItem(bakery, { price: 120 });
  return (await order([{ menuItemId, qty: 1 }], 120)).string("orderId");
}

const cancel = (id: string, by: Client = customer.client) => by.post(`/api/v1/orders/${id}/cancel`);
const move = (id: string, status: string, by: Client = bakery.owner.client) =>
  by.put(`/api/v1/orders/${id}/status`, { status });
const available = async (boxId: string) => (await api.client.get(`/api/v1/boxes/${boxId}`)).body["quantityAvailable"];
const statusOf = async (id: string) => (await customer.client.get(`/api/v1/orders/${id}`)).body["status"];

describe("a partner's change of an order's status", () => {
  const moves = ["READY", "COMPLETED", "CANCELLED"];
  const table: Record<string, string[]> = {
    ACCEPTED: ["READY", "COMPLETED", "CANCELLED"],
    READY: ["READY", "COMPLETED", "CANCELLED"],
    COMPLETED: ["COMPLETED"],
    CANCELLED: ["CANCELLED"],
    NO_SHOW: [],
  };
  const cases = Object.entries(table).flatMap(([from, allowed]) =>
    moves.map((to) => ({ from, to, allowed: allowed.includes(to) })),
  );

  test.each(cases)("from $from to $to is allowed: $allowed", async ({ from, to, allowed }) => {
    const id = await orderBread();
    await sql`update orders set status = ${from}::order_status where id = ${id}::uuid`;
    const reply = await move(id, to);
    expect(outcome(reply)).toBe(allowed ? "200" : "409 CONFLICT");
    if (allowed) expect(reply.body).toEqual({ orderId: id, status: to });
    else expect(reply.body["orderStatus"]).toBe(from);
    expect(await statusOf(id)).toBe(allowed ? to : from);
  });

  test.each(["ACCEPTED", "NO_SHOW", "PENDING", "", 1, null])("to %j: 400 VALIDATION_ERROR", async (status) => {
    const id = await orderBread();
    const reply = await bakery.owner.client.put(`/api/v1/orders/${id}/status`, { status });
    expect(outcome(reply)).toBe("400 VALIDATION_ERROR");
  });

  test("of another partner's order, or by the customer, is refused", async () => {
    const id = await orderBread();
    const other = await cast.bakery(api.client);
    expect(outcome(await move(id, "READY", other.owner.client))).toBe("404 NOT_FOUND");
    expect(outcome(await move(id, "READY", customer.client))).toBe("403 FORBIDDEN");
    expect(await statusOf(id)).toBe("ACCEPTED");
  });

  test("may be made by staff, and a suspended partner may still hand orders over", async () => {
    const id = await orderBread();
    const clerk = await cast.user(api.client);
    await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${bakery.id}::uuid)`;
    expect(outcome(await move(id, "READY", clerk.client))).toBe("200");
    await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
    expect(outcome(await move(id, "COMPLETED"))).toBe("200");
  });

  test("succeeds once among twenty concurrent ones, with one event", async () => {
    const id = await orderBread();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => move(id, n % 2 === 0 ? "COMPLETED" : "CANCELLED")),
    );
    const final = String(await statusOf(id));
    const expected = (n: number) => ((n % 2 === 0 ? "COMPLETED" : "CANCELLED") === final ? "200" : "409 CONFLICT");
    expect(replies.map(outcome)).toEqual(replies.map((_, n) => expected(n)));
    expect(await sql`select from order_events where order_id = ${id}::uuid`).toHaveLength(2);
  });
});

describe("cancelling an order", () => {
  test("is allowed to the partner at any time before the end", async () => {
    const id = await orderBread();
    await move(id, "READY");
    expect(outcome(await cancel(id, (await cast.bakery(api.client)).owner.client))).toBe("404 NOT_FOUND");
    expect(outcome(await cancel(id, bakery.owner.client))).toBe("200");
    expect(outcome(await cancel(id, bakery.owner.client))).toBe("200");
  });

  test("returns the boxes once, and makes a sold-out box ACTIVE again", async () => {
    const [one, other] = [await listBox(5), await listBox(6)];
    const items = [
      { boxId: one, qty: 3 },
      { boxId: other, qty: 1 },
    ];
    const id = (await order(items, 999.6)).string("orderId");
    expect([await available(one), await available(other)]).toEqual([0, 2]);
    const replies = await Promise.all(Array.from({ length: 10 }, () => cancel(id)));
    expect(replies.map(outcome)).toEqual(Array(10).fill("200"));
    expect(replies[0]?.body).toEqual({ orderId: id, status: "CANCELLED" });
    expect([await available(one), await available(other)]).toEqual([3, 3]);
    expect((await api.client.get(`/api/v1/boxes/${one}`)).body["status"]).toBe("ACTIVE");
    const rows = await sql`select from boxes where quantity_reserved <> 0 and id in (${one}, ${other})`;
    expect(rows).toHaveLength(0);
  });

  test("is allowed to the customer until two hours before the first window opens, in any open status", async () => {
    const [near, far] = [await listBox(1.99), await listBox(10)];
    const late = await orderBoxes(near);
    expect(outcome(await cancel(late))).toBe("409 CONFLICT");
    expect(await available(near)).toBe(2);
    expect(outcome(await move(late, "CANCELLED"))).toBe("200");
    expect(await available(near)).toBe(3);

    const both = [
      { boxId: near, qty: 1 },
      { boxId: far, qty: 1 },
    ];
    expect(outcome(await cancel((await order(both, 499.8)).string("orderId")))).toBe("409 CONFLICT");

    const early = await orderBoxes(await listBox(2.01));
    await move(early, "READY");
    expect(outcome(await cancel(early))).toBe("200");
  });

  test("without boxes is allowed to the customer only while it is ACCEPTED", async () => {
    const [accepted, ready] = [await orderBread(), await orderBread()];
    await move(ready, "READY");
    expect(outcome(await cancel(ready))).toBe("409 CONFLICT");
    expect(outcome(await cancel(accepted))).toBe("200");
  });

  test.each(["COMPLETED", "NO_SHOW"])("that is %s: 409", async (status) => {
    const boxId = await listBox(5);
    const id = await orderBoxes(boxId, 2);
    await sql`update orders set status = ${status}::order_status where id = ${id}::uuid`;
    expect(outcome(await cancel(id))).toBe("409 CONFLICT");
    expect(await available(boxId)).toBe(1);
  });

  test("returns boxes to an expired box, which stays expired", async () => {
    const boxId = await listBox(5);
    const id = await orderBoxes(boxId, 3);
    await sql`update boxes set status = 'EXPIRED' where id = ${boxId}::uuid`;
    await move(id, "CANCELLED");
    const [box] =
      await sql`select status::text, quantity_available, quantity_reserved from boxes where id = ${boxId}::uuid`;
    expect(box).toEqual({ status: "EXPIRED", quantityAvailable: 3, quantityReserved: 0 });
  });

  test("never deadlocks or loses stock when several orders list boxes in opposite sequences", async () => {
    const boxes = await Promise.all(Array.from({ length: 5 }, () => listBox(5, { quantity: 1_000 })));
    const all = (ids: string[]) => ids.map((boxId) => ({ boxId, qty: 1 }));
    const place = (n: number) => order(all(n % 2 === 0 ? boxes : [...boxes].reverse()), 1_249.5);
    const first = await Promise.all(Array.from({ length: 20 }, (_, n) => place(n)));
    const cancels = first.map((reply) => cancel(reply.string("orderId")));
    const more = Array.from({ length: 20 }, (_, n) => place(n));
    expect((await Promise.all(cancels)).map(outcome)).toEqual(Array(20).fill("200"));
    await Promise.all(more);
    expect(await Promise.all(boxes.map(available))).toEqual(Array(5).fill(980));
  });
});

describe("handing an order over", () => {
  test("completes the order whose code is given, and no other", async () => {
    const bread = await cast.addMenuItem(bakery, { price: 120 });
    const placed = await order([{ menuItemId: bread, qty: 1 }], 120);
    const id = placed.string("orderId");
    const right = placed.string("pickupCode");
    const wrong = right === "123456" ? "654321" : "123456";
    const pickUp = (pickupCode: unknown, by = bakery.owner.client) =>
      by.post(`/api/v1/orders/${id}/pickup`, { pickupCode });
    expect(outcome(await pickUp(wrong))).toBe("400 INVALID_CODE");
    for (const malformed of ["12345", "1234567", "abcdef", 123456, undefined])
      expect(outcome(await pickUp(malformed))).toBe("400 VALIDATION_ERROR");
    expect(outcome(await pickUp(right, (await cast.bakery(api.client)).owner.client))).toBe("404 NOT_FOUND");
    expect(await statusOf(id)).toBe("ACCEPTED");
    expect((await pickUp(right)).body).toEqual({ orderId: id, status: "COMPLETED" });
    expect(outcome(await pickUp(right))).toBe("200");
    expect(outcome(await cancel(id))).toBe("409 CONFLICT");
  });

  test("refuses a cancelled order", async () => {
    const bread = await cast.addMenuItem(bakery, { price: 120 });
    const placed = await order([{ menuItemId: bread, qty: 1 }], 120);
    const id = placed.string("orderId");
    await cancel(id);
    const pickupCode = placed.string("pickupCode");
    const reply = await bakery.owner.client.post(`/api/v1/orders/${id}/pickup`, { pickupCode });
    expect(outcome(reply)).toBe("409 CONFLICT");
  });
});

describe("an order's history", () => {
  test("is visible to its customer, its partner and admins, without naming the partner's people", async () => {
    const id = await orderBread();
    await move(id, "READY");
    await move(id, "READY");
    await move(id, "COMPLETED");
    const admin = await cast.admin(api.client);
    for (const reader of [customer, bakery.owner, admin]) {
      const events = (await reader.client.get(`/api/v1/orders/${id}/events`)).list;
      expect(events).toEqual([
        { from: null, to: "ACCEPTED", by: "CUSTOMER", at: expect.any(String) },
        { from: "ACCEPTED", to: "READY", by: "PARTNER", at: expect.any(String) },
        { from: "READY", to: "COMPLETED", by: "PARTNER", at: expect.any(String) },
      ]);
      const times = events.map(({ at }) => String(at));
      expect([...times].sort()).toEqual(times);
    }
    const kept = await sql<
      { actorId: string }[]
    >`select actor_id from order_events where order_id = ${id}::uuid order by position`;
    expect(kept.map((row) => row.actorId)).toEqual([customer.id, bakery.owner.id, bakery.owner.id]);
  });
});

describe("orders that are not picked up", () => {
  const forget = (id: string) => sql`update orders set no_show_at = now() - interval '1 second' where id = ${id}::uuid`;

  test("become no-shows an hour after their last window, or a day after they were ready; stock and points do not change", async () => {
    const [first, last] = [await listBox(2.5), await listBox(5)];
    const items = [
      { boxId: first, qty: 1 },
      { boxId: last, qty: 1 },
    ];
    const id = (await order(items, 499.8)).string("orderId");
    const bread = await orderBread();
    const due = async (of: string) => {
      const [row] = await sql<{ hours: number }[]>`
        select extract(epoch from no_show_at - greatest(pickup_window_end, estimated_ready_at))::integer / 3600 as hours
        from orders where id = ${of}::uuid`;
      return row?.hours;
    };
    expect([await due(id), await due(bread)]).toEqual([1, 25]);

    await runUpkeep(task({ task: "no-shows" }));
    expect([await statusOf(id), await statusOf(bread)]).toEqual(["ACCEPTED", "ACCEPTED"]);
    await forget(id);
    await move(bread, "READY");
    await forget(bread);
    await Promise.all([runUpkeep(task({ task: "no-shows" })), runUpkeep(task({ task: "no-shows" }))]);
    expect([await statusOf(id), await statusOf(bread)]).toEqual(["NO_SHOW", "NO_SHOW"]);
    expect([await available(first), await available(last)]).toEqual([2, 2]);
    expect((await customer.client.get("/api/v1/loyalty/score")).body).toMatchObject({ points: 0, ordersCompleted: 0 });
    const events = (await customer.client.get(`/api/v1/orders/${id}/events`)).list;
    expect(events.at(-1)).toMatchObject({ from: "ACCEPTED", to: "NO_SHOW", by: "SERVICE" });
  });

  test("exclude those that were picked up or cancelled in time", async () => {
    const [completed, cancelled] = [await orderBread(), await orderBread()];
    await move(completed, "COMPLETED");
    await cancel(cancelled);
    await forget(completed);
    await forget(cancelled);
    await runUpkeep(task({ task: "no-shows" }));
    expect([await statusOf(completed), await statusOf(cancelled)]).toEqual(["COMPLETED", "CANCELLED"]);
  });
});

describe("lists of orders", () => {
  test("contain the customer's or the partner's own orders, newest first, page by page, by status", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift(await orderBread());
    const [newest, second] = ids;
    await move(newest!, "READY");
    await move(second!, "CANCELLED");
    const other = await cast.user(api.client);
    const bread = await cast.addMenuItem(bakery, { price: 120 });
    const others = (await order([{ menuItemId: bread, qty: 1 }], 120, other)).string("orderId");

    const pages = async (by: Client, path: string) => {
      const seen: unknown[] = [];
      let next: string | undefined = path;
      while (next !== undefined) {
        const reply: Reply = await by.get(next);
        expect(reply.status).toBe(200);
        seen.push(...reply.list.map(({ orderId }) => orderId));
        next = /<(.*)>; rel="next"/.exec(reply.headers.get("link") ?? "")?.[1];
      }
      return seen;
    };
    expect(await pages(customer.client, "/api/v1/orders?limit=2")).toEqual(ids);
    expect(await pages(customer.client, "/api/v1/orders?limit=2&status=ACCEPTED")).toEqual(ids.slice(2));
    expect(await pages(bakery.owner.client, "/api/v1/partners/me/orders?limit=4")).toEqual([others, ...ids]);
    expect(await pages(bakery.owner.client, "/api/v1/partners/me/orders?limit=1&status=ACCEPTED")).toEqual([
      others,
      ...ids.slice(2),
    ]);
    expect(await pages(bakery.owner.client, "/api/v1/partners/me/orders?status=READY")).toEqual([newest]);
    expect(await pages((await cast.bakery(api.client)).owner.client, "/api/v1/partners/me/orders")).toEqual([]);
    expect(outcome(await customer.client.get("/api/v1/orders?status=LOST"))).toBe("400 VALIDATION_ERROR");
  });

  test("show each order as it is read alone, with the pickup code for the customer only", async () => {
    const id = await orderBoxes(await listBox(5), 2);
    const alone = (await customer.client.get(`/api/v1/orders/${id}`)).body;
    expect(alone).toMatchObject({
      orderId: id,
      status: "ACCEPTED",
      totalAmount: 499.8,
      discountCents: 0,
      amountDue: 499.8,
      items: [{ qty: 2, price: 249.9 }],
    });
    expect(alone["pickupCode"]).toMatch(/^\d{6}$/);
    expect((await customer.client.get("/api/v1/orders")).list).toEqual([alone]);
    expect((await bakery.owner.client.get("/api/v1/partners/me/orders")).list).toEqual([
      { ...alone, pickupCode: null },
    ]);
  });
});
