import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { startApi, type Client, type Reply } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { hold } from "../../../support/hold.js";
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

const outcome = ({ status, body }: Reply) => (status < 400 ? String(status) : `${status} ${String(body["code"])}`);
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

/** The box's window is over. */
const age = (id: string) => sql`
  update boxes set pickup_window_start = now() - interval '3 hours', pickup_window_end = now() - interval '1 second'
  where id = ${id}::uuid`;

describe("changing a box", () => {
  test("changes what is sent and nothing else; null empties what may be empty", async () => {
    const id = await cast.listBox(bakery, { description: "Всё", originalPrice: 500, weightGrams: 900, quantity: 5 });
    const before = await read(id);
    const reply = await put(id, { title: "Утренний набор", price: 199.9 });
    expect(reply.body).toEqual({ id, title: "Утренний набор", quantityAvailable: 5, status: "ACTIVE" });
    expect(await read(id)).toEqual({ ...before, title: "Утренний набор", price: 199.9 });
    await put(id, { description: null, originalPrice: null, weightGrams: null });
    expect(await read(id)).toMatchObject({ description: null, originalPrice: null, weightGrams: null, price: 199.9 });
  });

  test("replaces the contents as a whole, or not at all", async () => {
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
  ])("%j on what is there: 400 VALIDATION_ERROR", async (changes) => {
    const id = await cast.listBox(bakery);
    const before = await read(id);
    expect(outcome(await put(id, changes))).toBe("400 VALIDATION_ERROR");
    expect(await read(id)).toEqual(before);
  });

  test("`quantity` is the total that is offered: what is sold stays sold", async () => {
    const id = await cast.listBox(bakery, { quantity: 5 });
    await order(id, 3);
    expect((await put(id, { quantity: 10 })).body).toMatchObject({ quantityAvailable: 7 });
    expect((await put(id, { quantity: 3 })).body).toMatchObject({ quantityAvailable: 0, status: "SOLD_OUT" });
    expect(outcome(await put(id, { quantity: 2 }))).toBe("400 VALIDATION_ERROR");
    expect((await put(id, { quantity: 4 })).body).toMatchObject({ quantityAvailable: 1, status: "ACTIVE" });
    expect(await stockOf(id)).toEqual({ available: 1, reserved: 3, status: "ACTIVE" });
  });

  test("an order keeps what it was placed with", async () => {
    const id = await cast.listBox(bakery);
    const placed = await order(id);
    await put(id, { price: 1, title: "Другое", pickupWindowStart: hours(20), pickupWindowEnd: hours(21) });
    const kept = (await customer.client.get(`/api/v1/orders/${placed.string("orderId")}`)).body;
    expect(kept).toMatchObject({ totalAmount: 249.9, items: [{ name: "Вечерний набор", price: 249.9 }] });
    expect(new Date(String(kept["pickupWindowStart"])).getTime()).toBeLessThan(Date.now() + 2 * 3_600_000);
  });

  test("one whose window is over is not changed: 409", async () => {
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

  test("stock that is changed while everyone orders loses no order and no box", async () => {
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

describe("setting how many are available", () => {
  test.each(["quantityAvailable", "quantity"])(
    "by %s, whatever was sold; none is SOLD_OUT, some is ACTIVE again",
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

  test("while everyone orders: what is left is what was set last, less what was sold after", async () => {
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
  test("a hidden box is there for its own people alone, until it is shown again", async () => {
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

  test("its own people read a hidden box while another transaction has locked it", async () => {
    const id = await cast.listBox(bakery);
    await bakery.owner.client.post(`/api/v1/boxes/${id}/hide`);
    const unlock = await hold((tx) => tx`select from boxes where id = ${id}::uuid for no key update`);
    try {
      expect(outcome(await bakery.owner.client.get(`/api/v1/boxes/${id}`))).toBe("200");
    } finally {
      await unlock();
    }
  });

  test("the box of a partner that is not active is not shown to the public", async () => {
    const id = await cast.listBox(bakery);
    await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
    expect(outcome(await client.get(`/api/v1/boxes/${id}`))).toBe("404 NOT_FOUND");
    expect(outcome(await bakery.owner.client.get(`/api/v1/boxes/${id}`))).toBe("200");
  });

  test("a box is deleted unless it has orders that are not cancelled", async () => {
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

  test("of a deletion and orders at once either the box is gone or it is ordered", async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await cast.listBox(bakery);
      const [removed, ...orders] = await Promise.all([remove(id), order(id), order(id), order(id)]);
      const sold = orders.filter(({ status }) => status === 201).length;
      expect([outcome(removed), sold]).toEqual(removed.status === 204 ? ["204", 0] : ["409 CONFLICT", sold]);
    }
  });
});

describe("time", () => {
  test("boxes whose window is over expire, whoever sweeps, and only those", async () => {
    const [over, soldOut, open] = [await cast.listBox(bakery), await cast.listBox(bakery), await cast.listBox(bakery)];
    await setQuantity(soldOut, { quantity: 0 });
    await age(over);
    await age(soldOut);
    await Promise.all([runUpkeep(task({ task: "expire-boxes" })), runUpkeep(task({ task: "expire-boxes" }))]);
    await runUpkeep(task({ task: "expire-boxes" }));
    const statuses = await Promise.all([over, soldOut, open].map(async (id) => (await stockOf(id))?.status));
    expect(statuses).toEqual(["EXPIRED", "EXPIRED", "ACTIVE"]);
  });

  test("a box is listed again for the next day at the same local time, as it was", async () => {
    const bread = await cast.addMenuItem(bakery);
    const id = await cast.listBox(bakery, { quantity: 4, weightGrams: 700, items: [{ menuItemId: bread, qty: 2 }] });
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

  const repeated = async (id: string) =>
    sql<{ on: string; opens: Date; local: string; available: number }[]>`
      select repeats_on as on, pickup_window_start as opens, quantity_available as available,
             (pickup_window_start at time zone 'America/New_York')::time::text as local
      from boxes where repeats_id = ${id}::uuid order by repeats_on`;

  /** Makes the box one of `days` days ago that repeats every day. */
  async function repeatDaily(zone: string, opensInHours: number, until: string): Promise<string> {
    await sql`update partners set timezone = ${zone} where id = ${bakery.id}::uuid`;
    const id = await cast.listBox(bakery, {
      pickupWindowStart: hours(opensInHours),
      pickupWindowEnd: hours(opensInHours + 1),
      repeat: { days: [1, 2, 3, 4, 5, 6, 7], until },
    });
    await sql`
      update boxes
      set pickup_window_start = pickup_window_start - interval '5 days', pickup_window_end = pickup_window_end - interval '5 days'
      where id = ${id}::uuid`;
    return id;
  }

  test("a repeating box is listed once a day, a day ahead, never in the past, however often and late the task runs", async () => {
    const id = await repeatDaily("UTC", 2, "2199-01-01");
    await Promise.all([runUpkeep(task({ task: "repeat-boxes" })), runUpkeep(task({ task: "repeat-boxes" }))]);
    await runUpkeep(task({ task: "repeat-boxes" }));
    const boxes = await repeated(id);
    expect(boxes).toHaveLength(1);
    expect(boxes[0]).toMatchObject({ available: 10 });
    expect(boxes[0]!.opens.getTime()).toBeGreaterThan(Date.now());
    expect(boxes[0]!.opens.getTime()).toBeLessThan(Date.now() + 24 * 3_600_000);
    // one that was missed is made up while its window lasts
    await sql`delete from boxes where repeats_id = ${id}::uuid`;
    await sql`
      update boxes set pickup_window_start = pickup_window_start - interval '2 hours 30 minutes',
                       pickup_window_end = pickup_window_end - interval '2 hours 30 minutes'
      where id = ${id}::uuid`;
    await runUpkeep(task({ task: "repeat-boxes" }));
    const late = (await repeated(id)).map(({ opens }) => Math.round((opens.getTime() - Date.now()) / 60_000));
    expect(late).toEqual([-30, 24 * 60 - 30]);
  });

  test("not after its last day, not once it is changed, deleted or its partner suspended", async () => {
    const yesterday = new Date(Date.now() - 24 * 3_600_000).toISOString().slice(0, 10);
    const ended = await repeatDaily("UTC", 2, yesterday);
    const stopped = await repeatDaily("UTC", 2, "2199-01-01");
    await sql`update boxes set repeat_days = null, repeat_until = null where id = ${stopped}::uuid`;
    const deleted = await repeatDaily("UTC", 2, "2199-01-01");
    await remove(deleted);
    const hidden = await repeatDaily("UTC", 2, "2199-01-01");
    await bakery.owner.client.post(`/api/v1/boxes/${hidden}/hide`);
    const suspended = await repeatDaily("UTC", 2, "2199-01-01");
    await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
    await runUpkeep(task({ task: "repeat-boxes" }));
    for (const id of [ended, stopped, deleted, hidden, suspended]) expect(await repeated(id)).toEqual([]);
  });

  test("its people see when a box is listed again, and change that also when its window is over", async () => {
    const id = await repeatDaily("UTC", 2, "2199-01-01");
    const shown = async (by: Client, query = "") =>
      (await by.get(`/api/v1/boxes/by-partner/${bakery.id}${query}`)).list.find((box) => box["id"] === id);
    expect(await shown(bakery.owner.client, "?all=true")).toMatchObject({
      status: "EXPIRED",
      repeat: { days: [1, 2, 3, 4, 5, 6, 7], until: "2199-01-01" },
    });
    expect(outcome(await put(id, { repeat: null }))).toBe("200");
    expect(await shown(bakery.owner.client, "?all=true")).toMatchObject({ repeat: null });
    await runUpkeep(task({ task: "repeat-boxes" }));
    expect(await repeated(id)).toEqual([]);
    const visible = await cast.listBox(bakery);
    const [box] = (await api.client.get(`/api/v1/boxes/by-partner/${bakery.id}`)).list;
    expect([box?.["id"], box && "repeat" in box]).toEqual([visible, false]);
  });

  test("a zone that Postgres does not know stops no other partner's boxes", async () => {
    const other = await cast.bakery(api.client);
    await sql`update partners set timezone = 'US/Pacific-New' where id = ${other.id}::uuid`;
    const stuck = await cast.listBox(other, { repeat: { days: [1, 2, 3, 4, 5, 6, 7], until: "2199-01-01" } });
    await sql`
      update boxes
      set pickup_window_start = pickup_window_start - interval '5 days', pickup_window_end = pickup_window_end - interval '5 days'
      where id = ${stuck}::uuid`;
    const id = await repeatDaily("UTC", 2, "2199-01-01");
    await runUpkeep(task({ task: "repeat-boxes" }));
    expect(await repeated(id)).toHaveLength(1);
    expect(await repeated(stuck)).toHaveLength(1);
  });

  test("only on its days of the week", async () => {
    const id = await repeatDaily("UTC", 2, "2199-01-01");
    const opens = new Date(Date.now() + 2 * 3_600_000);
    const weekday = opens.getUTCDay() === 0 ? 7 : opens.getUTCDay();
    const others = [1, 2, 3, 4, 5, 6, 7].filter((day) => day !== weekday && day !== (weekday % 7) + 1);
    await sql`update boxes set repeat_days = ${others}::smallint[] where id = ${id}::uuid`;
    await runUpkeep(task({ task: "repeat-boxes" }));
    expect(await repeated(id)).toEqual([]);
    await sql`update boxes set repeat_days = ${[weekday]}::smallint[] where id = ${id}::uuid`;
    await runUpkeep(task({ task: "repeat-boxes" }));
    expect(await repeated(id)).toHaveLength(1);
  });

  test.each([
    ["2030-03-10", "18:30:00"],
    ["2030-03-10", "00:30:00"],
    ["2030-11-03", "18:30:00"],
    ["2030-11-03", "23:59:00"],
    ["2030-06-15", "09:00:00"],
  ])("the local time is kept on the day when clocks change: %s at %s", async (day, time) => {
    const id = await repeatDaily("America/New_York", 2, "2199-01-01");
    await sql`
      update boxes
      set pickup_window_start = ('2030-03-01'::date + ${time}::time) at time zone 'America/New_York',
          pickup_window_end = ('2030-03-01'::date + ${time}::time) at time zone 'America/New_York' + interval '1 hour'
      where id = ${id}::uuid`;
    await sql`select repeat_box(${id}::uuid, ${day}::date, true)`;
    expect(await repeated(id)).toMatchObject([{ on: day, local: time }]);
  });
});
