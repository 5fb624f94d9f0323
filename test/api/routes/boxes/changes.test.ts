import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { lockRows } from "../../../support/locks.js";
import { task } from "../../../support/task.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let bakery: cast.Bakery;
let customer: cast.Character;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

beforeEach(async () => {
  [bakery, customer] = await Promise.all([cast.bakery(client), cast.user(client)]);
});

const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();
const put = (id: string, changes: object) => bakery.owner.client.put(`/api/v1/boxes/${id}`, changes);
const setQuantity = (id: string, body: object) => bakery.owner.client.patch(`/api/v1/boxes/${id}/quantity`, body);
const remove = (id: string) => bakery.owner.client.delete(`/api/v1/boxes/${id}`);
const read = async (id: string) => (await client.get(`/api/v1/boxes/${id}`)).body;
const order = (boxId: string, qty = 1, price = 249.9) =>
  customer.client.post("/api/v1/orders", { items: [{ boxId, qty }], totalAmount: price * qty, partnerId: bakery.id });

const stockOf = async (id: string) => {
  const [row] = await sql<{ available: number; reserved: number; status: string }[]>`
    select quantity_available as available, quantity_reserved as reserved, status::text from boxes where id = ${id}::uuid`;
  return row;
};

/** Moves the box's pickup window into the past. */
const age = (id: string) => sql`
  update boxes set pickup_window_start = now() - interval '3 hours', pickup_window_end = now() - interval '1 second'
  where id = ${id}::uuid`;

describe("changing a box", () => {
  test("changes the given fields and keeps the rest; null clears optional ones", async () => {
    const id = await cast.listBox(bakery, {
      description: "Всё",
      originalPrice: 500,
      weightGrams: 900,
      maxPerCustomer: 3,
    });
    const before = await read(id);
    const reply = await put(id, { title: "Утренний набор", price: 199.9 });
    expect(reply.body).toEqual({ id, title: "Утренний набор", quantityAvailable: 10, status: "ACTIVE" });
    expect(await read(id)).toEqual({ ...before, title: "Утренний набор", price: 199.9 });
    const cleared = { description: null, originalPrice: null, weightGrams: null, maxPerCustomer: null };
    await put(id, cleared);
    expect(await read(id)).toMatchObject({ ...cleared, price: 199.9 });
    await put(id, { maxPerCustomer: 1 });
    expect(await read(id)).toMatchObject({ maxPerCustomer: 1 });
  });

  test("replaces all contents or none", async () => {
    const [bread, cake] = [await cast.addMenuItem(bakery), await cast.addMenuItem(bakery, { name: "Торт" })];
    const foreign = await cast.addMenuItem(await cast.bakery(client));
    const id = await cast.listBox(bakery, { items: [{ menuItemId: bread, qty: 1 }] });
    expect(outcome(await put(id, { items: [{ menuItemId: cake, qty: 2 }] }))).toBe("200");
    const contents = [{ menuItemId: cake, name: "Торт", qty: 2 }];
    expect((await read(id))["items"]).toEqual(contents);
    const mixed = [bread, foreign].map((menuItemId) => ({ menuItemId, qty: 1 }));
    expect(outcome(await put(id, { title: "Чужое", items: mixed }))).toBe("400 VALIDATION_ERROR");
    expect(await read(id)).toMatchObject({ title: "Вечерний набор", items: contents });
    await put(id, { items: [] });
    expect((await read(id))["items"]).toEqual([]);
  });

  test.each([
    [{}],
    [{ title: "" }],
    [{ price: -1 }],
    [{ quantity: 0 }],
    [{ quantity: 10_001 }],
    [{ originalPrice: 1 }],
    [{ pickupWindowStart: hours(4) }],
    [{ pickupWindowEnd: hours(60) }],
    [{ pickupWindowStart: hours(-3), pickupWindowEnd: hours(-1) }],
    [{ repeat: { days: [], until: "2030-01-01" } }],
    [{ repeat: { days: [8], until: "2030-01-01" } }],
    [{ repeat: { days: [1], until: "tomorrow" } }],
  ])("%j for an existing box: 400 VALIDATION_ERROR", async (changes) => {
    const id = await cast.listBox(bakery);
    const before = await read(id);
    expect(outcome(await put(id, changes))).toBe("400 VALIDATION_ERROR");
    expect(await read(id)).toEqual(before);
  });

  test("`quantity` includes the boxes already sold", async () => {
    const id = await cast.listBox(bakery, { quantity: 5 });
    await order(id, 3);
    expect((await put(id, { quantity: 10 })).body).toMatchObject({ quantityAvailable: 7 });
    expect((await put(id, { quantity: 3 })).body).toMatchObject({ quantityAvailable: 0, status: "SOLD_OUT" });
    expect(outcome(await put(id, { quantity: 2 }))).toBe("400 VALIDATION_ERROR");
    expect((await put(id, { quantity: 4 })).body).toMatchObject({ quantityAvailable: 1, status: "ACTIVE" });
    expect(await stockOf(id)).toEqual({ available: 1, reserved: 3, status: "ACTIVE" });
  });

  test("an existing order keeps its price, title and window", async () => {
    const id = await cast.listBox(bakery);
    const placed = await order(id);
    await put(id, { price: 1, title: "Другое", pickupWindowStart: hours(20), pickupWindowEnd: hours(21) });
    const kept = (await customer.client.get(`/api/v1/orders/${placed.string("orderId")}`)).body;
    expect(kept).toMatchObject({ totalAmount: 249.9, items: [{ name: "Вечерний набор", price: 249.9 }] });
    expect(new Date(String(kept["pickupWindowStart"])).getTime()).toBeLessThan(Date.now() + 2 * 3_600_000);
  });

  test("a box whose window is over cannot be changed: 409", async () => {
    const id = await cast.listBox(bakery);
    await age(id);
    const window = { pickupWindowStart: hours(1), pickupWindowEnd: hours(2) };
    expect(outcome(await put(id, window))).toBe("409 CONFLICT");
    expect(outcome(await setQuantity(id, { quantityAvailable: 5 }))).toBe("409 CONFLICT");
    await runUpkeep(task({ task: "expire-boxes" }));
    expect(outcome(await put(id, window))).toBe("409 CONFLICT");
    expect(outcome(await put(id, { repeat: null, title: "Другое" }))).toBe("409 CONFLICT");
    expect((await stockOf(id))?.status).toBe("EXPIRED");
  });

  test("changing the stock during concurrent orders loses no order and no box", async () => {
    const id = await cast.listBox(bakery, { quantity: 100 });
    const orders = Array.from({ length: 60 }, () => order(id));
    const changes = Array.from({ length: 10 }, (_, n) => put(id, { quantity: 100 + n }));
    const sold = (await Promise.all(orders)).filter(({ status }) => status === 201).length;
    const last = await Promise.all(changes);
    expect(last.map(outcome)).toEqual(Array(10).fill("200"));
    const stock = await stockOf(id);
    expect(stock?.reserved).toBe(sold);
    expect(stock!.available + stock!.reserved).toBeGreaterThanOrEqual(100);
    expect(stock!.available + stock!.reserved).toBeLessThan(110);
  });
});

describe("setting the available quantity", () => {
  test.each(["quantityAvailable", "quantity"])(
    "by %s ignores what was sold; 0 makes it SOLD_OUT, and more makes it ACTIVE again",
    async (field) => {
      const id = await cast.listBox(bakery, { quantity: 5 });
      await order(id, 3);
      expect((await setQuantity(id, { [field]: 0 })).body).toEqual({ id, quantityAvailable: 0 });
      expect(await stockOf(id)).toEqual({ available: 0, reserved: 3, status: "SOLD_OUT" });
      expect(outcome(await order(id))).toBe("409 CONFLICT");
      expect((await setQuantity(id, { [field]: 4 })).body).toEqual({ id, quantityAvailable: 4 });
      expect(await stockOf(id)).toEqual({ available: 4, reserved: 3, status: "ACTIVE" });
    },
  );

  test.each([
    [{}],
    [{ quantityAvailable: -1 }],
    [{ quantityAvailable: 1.5 }],
    [{ quantityAvailable: "1" }],
    [{ quantity: 10_001 }],
  ])("%j: 400 VALIDATION_ERROR", async (body) => {
    expect(outcome(await setQuantity(await cast.listBox(bakery), body))).toBe("400 VALIDATION_ERROR");
  });

  test("during concurrent orders leaves the last set quantity less the later sales", async () => {
    const id = await cast.listBox(bakery, { quantity: 1_000 });
    const work = Array.from({ length: 80 }, (_, n) =>
      n % 8 === 0 ? setQuantity(id, { quantityAvailable: 500 }) : order(id),
    );
    const replies = await Promise.all(work);
    const sold = replies.filter(({ status }) => status === 201).length;
    const stock = await stockOf(id);
    expect(sold).toBe(70);
    expect(stock?.reserved).toBe(70);
    expect(stock!.available).toBeLessThanOrEqual(500);
    expect(stock!.available).toBeGreaterThanOrEqual(430);
  });
});

describe("hiding and deleting", () => {
  test("only the partner's people see a hidden box, until it is shown again", async () => {
    const id = await cast.listBox(bakery);
    const set = (what: string) => bakery.owner.client.post(`/api/v1/boxes/${id}/${what}`);
    const seen = async (as: Client) => outcome(await as.get(`/api/v1/boxes/${id}`));
    for (let times = 0; times < 2; times += 1) expect((await set("hide")).body).toEqual({ id, hidden: true });
    expect([await seen(client), await seen(customer.client)]).toEqual(["404 NOT_FOUND", "404 NOT_FOUND"]);
    expect((await bakery.owner.client.get(`/api/v1/boxes/${id}`)).body).toMatchObject({ id, hidden: true });
    expect((await client.get(`/api/v1/boxes/by-partner/${bakery.id}`)).list).toEqual([]);
    expect((await bakery.owner.client.get(`/api/v1/boxes/by-partner/${bakery.id}?all=true`)).list).toHaveLength(1);
    expect(outcome(await order(id))).toBe("400 VALIDATION_ERROR");
    for (let times = 0; times < 2; times += 1) expect((await set("unhide")).body).toEqual({ id, hidden: false });
    expect(await seen(client)).toBe("200");
  });

  test("the partner's people can read a hidden box while another transaction has locked it", async () => {
    const id = await cast.listBox(bakery);
    await bakery.owner.client.post(`/api/v1/boxes/${id}/hide`);
    const unlock = await lockRows((tx) => tx`select from boxes where id = ${id}::uuid for no key update`);
    try {
      expect(outcome(await bakery.owner.client.get(`/api/v1/boxes/${id}`))).toBe("200");
    } finally {
      await unlock();
    }
  });

  test("the public cannot see a box of a partner that is not active", async () => {
    const id = await cast.listBox(bakery);
    await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
    expect(outcome(await client.get(`/api/v1/boxes/${id}`))).toBe("404 NOT_FOUND");
    expect(outcome(await bakery.owner.client.get(`/api/v1/boxes/${id}`))).toBe("200");
  });

  test("a box can be deleted unless it has orders that are not cancelled", async () => {
    const id = await cast.listBox(bakery);
    const placed = (await order(id)).string("orderId");
    expect(outcome(await remove(id))).toBe("409 CONFLICT");
    await customer.client.post(`/api/v1/orders/${placed}/cancel`);
    await sql`update orders set status = 'ACCEPTED' where id = ${placed}::uuid`;
    expect(outcome(await bakery.owner.client.put(`/api/v1/orders/${placed}/status`, { status: "CANCELLED" }))).toBe(
      "200",
    );
    expect(outcome(await remove(id))).toBe("204");
    expect(outcome(await remove(id))).toBe("404 NOT_FOUND");
    for (const attempt of [
      client.get(`/api/v1/boxes/${id}`),
      bakery.owner.client.get(`/api/v1/boxes/${id}`),
      put(id, { title: "x" }),
      setQuantity(id, { quantity: 1 }),
      bakery.owner.client.post(`/api/v1/boxes/${id}/unhide`),
      bakery.owner.client.post(`/api/v1/boxes/${id}/repeat`),
    ])
      expect(outcome(await attempt)).toBe("404 NOT_FOUND");
    expect((await bakery.owner.client.get(`/api/v1/boxes/by-partner/${bakery.id}?all=true`)).list).toEqual([]);
    expect(outcome(await order(id))).toBe("400 VALIDATION_ERROR");
    expect((await customer.client.get(`/api/v1/orders/${placed}`)).body).toMatchObject({ items: [{ menuItemId: id }] });
  });

  test("a deletion that races with orders either succeeds or the box is ordered, never both", async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await cast.listBox(bakery);
      const [removed, ...orders] = await Promise.all([remove(id), order(id), order(id), order(id)]);
      const sold = orders.filter(({ status }) => status === 201).length;
      expect([outcome(removed), sold]).toEqual(removed.status === 204 ? ["204", 0] : ["409 CONFLICT", sold]);
    }
  });
});

describe("expiry and repetition", () => {
  test("boxes whose window is over expire, also when the task runs twice at once, and no others do", async () => {
    const [over, soldOut, open] = [await cast.listBox(bakery), await cast.listBox(bakery), await cast.listBox(bakery)];
    await setQuantity(soldOut, { quantity: 0 });
    await age(over);
    await age(soldOut);
    await Promise.all([runUpkeep(task({ task: "expire-boxes" })), runUpkeep(task({ task: "expire-boxes" }))]);
    await runUpkeep(task({ task: "expire-boxes" }));
    const statuses = await Promise.all([over, soldOut, open].map(async (id) => (await stockOf(id))?.status));
    expect(statuses).toEqual(["EXPIRED", "EXPIRED", "ACTIVE"]);
  });

  test("repeating a box lists it for the next day at the same local time, with the same fields", async () => {
    const bread = await cast.addMenuItem(bakery);
    const id = await cast.listBox(bakery, {
      quantity: 4,
      weightGrams: 700,
      maxPerCustomer: 3,
      items: [{ menuItemId: bread, qty: 2 }],
    });
    await order(id, 3);
    const again = await bakery.owner.client.post(`/api/v1/boxes/${id}/repeat`);
    expect(again.status).toBe(201);
    const [first, second] = [await read(id), again.body];
    const day = 24 * 3_600_000;
    const shifted = (field: string) => new Date(new Date(String(first[field])).getTime() + day).toISOString();
    expect(second).toEqual({
      ...first,
      id: expect.any(String),
      quantityAvailable: 4,
      pickupWindowStart: shifted("pickupWindowStart"),
      pickupWindowEnd: shifted("pickupWindowEnd"),
    });
    await age(id);
    const third = await bakery.owner.client.post(`/api/v1/boxes/${id}/repeat`);
    expect(new Date(String(third.body["pickupWindowEnd"])).getTime()).toBeGreaterThan(Date.now());
  });

  test("repeating a box copies every column, but for those that each box has of its own", async () => {
    const copied = async (id: string) => {
      const [row] = await sql<{ columns: Record<string, unknown> }[]>`
        select to_jsonb(b) - '{id, pickup_window_start, pickup_window_end, quantity_available, quantity_reserved, status,
                 lowest_price_minor, hidden_at, deleted_at, repeat_days, repeat_until, repeats_id, repeats_on, created_at,
                 updated_at}'::text[] as columns
        from boxes b
        where id = ${id}::uuid`;
      return row?.columns;
    };
    const id = await cast.listBox(bakery, {
      description: "Всё",
      originalPrice: 500,
      weightGrams: 700,
      maxPerCustomer: 3,
    });
    await sql`
      with picture as (
        insert into files (user_id, name, status, content_type, size, settled_at)
        values (${bakery.owner.id}::uuid, ${`${id}.webp`}, 'READY', 'image/webp', 1, now())
        returning name
      )
      update boxes set image = ${`${id}.webp`} from picture where id = ${id}::uuid`;
    const first = await copied(id);
    // a column without a value would show nothing: give it one above, or name it as one of each box's own
    expect(Object.entries(first ?? {}).filter(([, value]) => value === null)).toEqual([]);
    const again = await bakery.owner.client.post(`/api/v1/boxes/${id}/repeat`);
    expect(await copied(again.string("id"))).toEqual(first);
  });
});
