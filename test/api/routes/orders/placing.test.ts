import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { toMajor } from "../../../../lib/domain/money.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { closeSignals } from "../../../../sql/signals.js";
import { startApi, type Client, type Reply } from "../../../support/api.js";
import {
  addMenuItem,
  admin,
  bakery,
  listBox,
  newBox,
  user,
  type Bakery,
  type Character,
} from "../../../support/cast.js";
import { countWaiting, hold } from "../../../support/hold.js";
import { until } from "../../../support/until.js";

let client: Client;
let stop: () => Promise<void>;
let anna: Character;
let shop: Bakery;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  anna = await user(client);
  shop = await bakery(client);
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

interface Line {
  menuItemId?: string;
  boxId?: string;
  qty: number;
}

const order = (buyer: Character, seller: Bakery, items: Line[], totalAmount: number, key?: string, more: object = {}) =>
  buyer.client.post(
    "/api/v1/orders",
    { items, totalAmount, partnerId: seller.id, ...more },
    key === undefined ? {} : { headers: { "idempotency-key": key } },
  );

const stockOf = async (boxId: string) => {
  const [row] = await sql<{ available: number; reserved: number; status: string }[]>`
    select quantity_available as available, quantity_reserved as reserved, status::text from boxes where id = ${boxId}::uuid`;
  if (!row) throw new Error("no such box");
  return row;
};

/** How many rows an order of this partner has left in each table that placing one writes. */
const traces = async (partnerId: string) => {
  const [row] = await sql<Record<string, number>[]>`
    select
      (select count(*)::integer from orders where partner_id = ${partnerId}::uuid) as orders,
      (select count(*)::integer from order_items i join orders o on o.id = i.order_id where o.partner_id = ${partnerId}::uuid) as items,
      (select count(*)::integer from order_events e join orders o on o.id = e.order_id where o.partner_id = ${partnerId}::uuid) as events,
      (select count(*)::integer from idempotency_keys k join orders o on o.id = k.order_id where o.partner_id = ${partnerId}::uuid) as keys,
      (
        select count(*)::integer from staged_jobs j
        join orders o on o.id::text = j.payload ->> 'subjectId' and o.partner_id = ${partnerId}::uuid
        where j.queue = 'fan-out'
      ) as jobs`;
  return row;
};

const statuses = (replies: Reply[]) => replies.map(({ status }) => status).sort();

describe("placing an order", () => {
  test("takes the boxes, fixes the economics, records the event and stages the job that tells of it", async () => {
    const seller = await bakery(client);
    const box = await listBox(seller, { price: 249.9, quantity: 5 });
    const bun = await addMenuItem(seller, { price: 0.1, name: "Булочка" });
    const reply = await anna.client.post(
      "/api/v1/orders",
      {
        items: [
          { menuItemId: box, qty: 2 },
          { menuItemId: bun, qty: 3 },
        ],
        totalAmount: 500.1,
        partnerId: seller.id,
        address: "Арбат, 10",
      },
      { headers: { "x-request-id": "demo-request.1" } },
    );
    expect(reply.status).toBe(201);
    expect(reply.body).toMatchObject({
      status: "ACCEPTED",
      totalAmount: 500.1,
      discountCents: 0,
      amountDue: 500.1,
      items: [
        { menuItemId: box, name: "Вечерний набор", price: 249.9, qty: 2 },
        { menuItemId: bun, name: "Булочка", price: 0.1, qty: 3 },
      ],
    });
    expect(reply.string("pickupCode")).toMatch(/^\d{6}$/);
    expect(reply.headers.get("location")).toBe(`/api/v1/orders/${reply.string("orderId")}`);
    expect(await stockOf(box)).toEqual({ available: 3, reserved: 2, status: "ACTIVE" });
    expect(await traces(seller.id)).toEqual({ orders: 1, items: 2, events: 1, keys: 0, jobs: 1 });
    const jobs = await sql<{ requestId: string | null }[]>`
      select request_id as "requestId" from staged_jobs where payload ->> 'subjectId' = ${reply.string("orderId")}`;
    expect(jobs).toEqual([{ requestId: "demo-request.1" }]);
  });

  test("is ready at the start of the pickup window, or after the partner's preparation time, whichever is later", async () => {
    const seller = await bakery(client);
    const start = new Date(Date.now() + 3_600_000);
    const box = await listBox(seller, { price: 1, pickupWindowStart: start.toISOString() });
    const bun = await addMenuItem(seller, { price: 1 });
    const boxOnly = await order(anna, seller, [{ menuItemId: box, qty: 1 }], 1);
    expect(boxOnly.body["estimatedReadyAt"]).toBe(start.toISOString());

    const before = Date.now();
    const menuOnly = await order(anna, seller, [{ menuItemId: bun, qty: 1 }], 1);
    const readyAt = Date.parse(menuOnly.string("estimatedReadyAt"));
    expect(readyAt - before).toBeGreaterThanOrEqual(20 * 60_000 - 1_000);
    expect(readyAt - Date.now()).toBeLessThanOrEqual(20 * 60_000 + 1_000);

    await sql`update partners set preparation_minutes = 120 where id = ${seller.id}::uuid`;
    const both = await order(
      anna,
      seller,
      [
        { menuItemId: box, qty: 1 },
        { menuItemId: bun, qty: 1 },
      ],
      2,
    );
    expect(Date.parse(both.string("estimatedReadyAt"))).toBeGreaterThan(start.getTime());
  });

  test("takes the partner's commission, else the global one, else 15 %, and rounds it to the minor unit", async () => {
    const seller = await bakery(client);
    const item = await addMenuItem(seller, { price: 33.33 });
    const commissionOf = async () => {
      const reply = await order(anna, seller, [{ menuItemId: item, qty: 1 }], 33.33);
      const [row] = await sql<{ percent: string; minor: number }[]>`
        select commission_percent as percent, commission_minor as minor from orders where id = ${reply.string("orderId")}::uuid`;
      return row;
    };
    expect(await commissionOf()).toEqual({ percent: "15.00", minor: 500 });
    await sql`insert into commission_rates (partner_id, rate_percent) values (null, 10)`;
    expect(await commissionOf()).toEqual({ percent: "10.00", minor: 333 });
    await sql`insert into commission_rates (partner_id, rate_percent) values (${seller.id}::uuid, 12.5)`;
    expect(await commissionOf()).toEqual({ percent: "12.50", minor: 417 });
    await sql`delete from commission_rates`;
  });

  test("accepts boxId for a box, in any letter case, and sums lines that name the same thing", async () => {
    const box = await listBox(shop, { price: 10, quantity: 5 });
    const reply = await order(
      anna,
      shop,
      [
        { boxId: box.toUpperCase(), qty: 1 },
        { menuItemId: box, qty: 2 },
      ],
      30,
    );
    expect(reply.status).toBe(201);
    expect(reply.body["items"]).toEqual([{ menuItemId: box, name: "Вечерний набор", price: 10, qty: 3 }]);
    expect(await stockOf(box)).toMatchObject({ available: 2 });
  });

  test("the amounts of an order add up, whatever the prices and quantities", async () => {
    const seller = await bakery(client);
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ minor: fc.integer({ min: 0, max: 1_000_000_000 }), qty: fc.integer({ min: 1, max: 100 }) }),
          {
            minLength: 1,
            maxLength: 5,
          },
        ),
        async (lines) => {
          const items = await Promise.all(
            lines.map(async ({ minor, qty }) => ({
              menuItemId: await addMenuItem(seller, { price: toMajor(minor) }),
              qty,
            })),
          );
          const total = lines.reduce((sum, { minor, qty }) => sum + minor * qty, 0);
          if (total > 1_000_000_000) return;
          const reply = await order(anna, seller, items, toMajor(total));
          expect(reply.status).toBe(201);
          const [row] = await sql<{ total: number; due: number; commission: number }[]>`
            select total_minor as total, amount_due_minor as due, commission_minor as commission
            from orders where id = ${reply.string("orderId")}::uuid`;
          expect(row).toEqual({ total, due: total, commission: Math.round((total * 15) / 100) });
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("what is refused leaves no trace", () => {
  const refuses = async (seller: Bakery, attempt: () => Promise<Reply>, status: number, code: string) => {
    const before = await traces(seller.id);
    const reply = await attempt();
    expect(reply.body).toMatchObject({ status, code });
    expect(await traces(seller.id)).toEqual(before);
    return reply;
  };

  test("a wrong total, with the expected one in the answer", async () => {
    const box = await listBox(shop, { price: 99.99, quantity: 3 });
    const reply = await refuses(
      shop,
      () => order(anna, shop, [{ menuItemId: box, qty: 2 }], 200),
      400,
      "VALIDATION_ERROR",
    );
    expect(reply.body["expected"]).toEqual({ totalAmount: 199.98, discountCents: 0, amountDue: 199.98 });
    expect(await stockOf(box)).toMatchObject({ available: 3, reserved: 0 });
  });

  test("more boxes than are left, with what is left in the answer", async () => {
    const few = await listBox(shop, { price: 1, quantity: 2 });
    const many = await listBox(shop, { price: 1, quantity: 50 });
    const attempt = () =>
      order(
        anna,
        shop,
        [
          { menuItemId: many, qty: 1 },
          { menuItemId: few, qty: 3 },
        ],
        4,
      );
    const reply = await refuses(shop, attempt, 409, "CONFLICT");
    expect(reply.body["available"]).toEqual([{ menuItemId: few, quantityAvailable: 2 }]);
    expect(await stockOf(many)).toMatchObject({ available: 50 });
  });

  test("unknown, archived, unavailable, hidden, expired and foreign items", async () => {
    const stranger = await bakery(client);
    const archived = await addMenuItem(shop, { price: 1 });
    await shop.owner.client.delete(`/api/v1/menu/items/${archived}`);
    const unavailable = await addMenuItem(shop, { price: 1, available: false });
    const hidden = await listBox(shop, { price: 1 });
    await sql`update boxes set hidden_at = now() where id = ${hidden}::uuid`;
    const over = await listBox(shop, { price: 1 });
    await sql`
      update boxes set pickup_window_start = now() - interval '2 hours', pickup_window_end = now() - interval '1 second'
      where id = ${over}::uuid`;
    const expired = await listBox(shop, { price: 1 });
    await sql`update boxes set status = 'EXPIRED' where id = ${expired}::uuid`;
    const foreignBox = await listBox(stranger, { price: 1 });
    const foreignItem = await addMenuItem(stranger, { price: 1 });
    const fine = await addMenuItem(shop, { price: 1 });
    for (const id of [crypto.randomUUID(), archived, unavailable, hidden, over, expired, foreignBox, foreignItem]) {
      const attempt = () =>
        order(
          anna,
          shop,
          [
            { menuItemId: fine, qty: 1 },
            { menuItemId: id, qty: 1 },
          ],
          2,
          "not-burnt",
        );
      const reply = await refuses(shop, attempt, 400, "VALIDATION_ERROR");
      expect(reply.body["errors"]).toEqual([{ path: "items", message: `${id} is not on offer` }]);
    }
  });

  test("an unknown partner, and one that is not active", async () => {
    const asleep = await bakery(client);
    const item = await addMenuItem(asleep, { price: 1 });
    for (const status of ["SUSPENDED", "PENDING_REVIEW", "REJECTED"]) {
      await sql`update partners set status = ${status}::partner_status where id = ${asleep.id}::uuid`;
      await refuses(asleep, () => order(anna, asleep, [{ menuItemId: item, qty: 1 }], 1), 409, "CONFLICT");
    }
    const nowhere = { ...asleep, id: crypto.randomUUID() };
    await refuses(asleep, () => order(anna, nowhere, [{ menuItemId: item, qty: 1 }], 1), 400, "VALIDATION_ERROR");
  });

  test("a buyer whose account is gone", async () => {
    const gone = await user(client);
    await sql`update users set deleted_at = now() where id = ${gone.id}::uuid`;
    const item = await addMenuItem(shop, { price: 1 });
    await refuses(shop, () => order(gone, shop, [{ menuItemId: item, qty: 1 }], 1), 401, "UNAUTHORIZED");
  });

  test("a window that closes while the order waits for its turn", async () => {
    const box = await listBox(shop, { price: 1 });
    const blocker = await sqlBlocker(box);
    const waiting = order(anna, shop, [{ menuItemId: box, qty: 1 }], 1);
    await blocker.someoneWaits();
    await blocker.closeWindowAndRelease();
    expect((await waiting).body).toMatchObject({ status: 409, code: "CONFLICT" });
    expect(await stockOf(box)).toMatchObject({ available: 10, reserved: 0 });
  });

  test.each([
    ["no items", { items: [] }],
    ["51 items", { items: Array.from({ length: 51 }, () => ({ menuItemId: crypto.randomUUID(), qty: 1 })) }],
    ["qty 0", { items: [{ menuItemId: crypto.randomUUID(), qty: 0 }] }],
    ["qty 101", { items: [{ menuItemId: crypto.randomUUID(), qty: 101 }] }],
    ["qty 1.5", { items: [{ menuItemId: crypto.randomUUID(), qty: 1.5 }] }],
    ["an id that is no UUID", { items: [{ menuItemId: "bun", qty: 1 }] }],
    ["a negative total", { totalAmount: -1 }],
    ["three decimals", { totalAmount: 1.001 }],
    ["a total that is text", { totalAmount: "1" }],
    ["no partner", { partnerId: undefined }],
    ["an address of 501 characters", { address: "a".repeat(501) }],
    ["an address with NUL", { address: "a\u0000b" }],
  ])("%s: VALIDATION_ERROR", async (_what, fields) => {
    const body = {
      items: [{ menuItemId: crypto.randomUUID(), qty: 1 }],
      totalAmount: 1,
      partnerId: shop.id,
      ...fields,
    };
    expect((await anna.client.post("/api/v1/orders", body)).body).toMatchObject({
      status: 400,
      code: "VALIDATION_ERROR",
    });
  });

  test("more than 100 of one thing, also when several lines add up to it", async () => {
    const item = await addMenuItem(shop, { price: 1 });
    const reply = await order(
      anna,
      shop,
      [
        { menuItemId: item, qty: 60 },
        { menuItemId: item, qty: 41 },
      ],
      101,
    );
    expect(reply.body).toMatchObject({ status: 400, code: "VALIDATION_ERROR" });
  });

  test("nobody's order", async () => {
    expect((await order({ ...anna, client }, shop, [], 1)).body).toMatchObject({ status: 401, code: "UNAUTHORIZED" });
  });
});

describe("Idempotency-Key", () => {
  test("the same key and payload: DUPLICATE with the first order, before stock and totals are looked at", async () => {
    const box = await listBox(shop, { price: 10, quantity: 1 });
    const first = await order(anna, shop, [{ menuItemId: box, qty: 1 }], 10, "key-1");
    expect(first.status).toBe(201);
    const again = await order(anna, shop, [{ menuItemId: box, qty: 1 }], 10, "key-1");
    expect(again.body).toMatchObject({
      status: 409,
      code: "DUPLICATE",
      orderId: first.string("orderId"),
      orderStatus: "ACCEPTED",
      estimatedReadyAt: first.string("estimatedReadyAt"),
    });
  });

  test("payloads are compared by what they mean: unknown fields and the order of fields do not count", async () => {
    const item = await addMenuItem(shop, { price: 10 });
    const send = (body: string) =>
      anna.client.post("/api/v1/orders", body, { headers: { "idempotency-key": "canonical" } });
    const first = await send(`{"items":[{"menuItemId":"${item}","qty":1}],"totalAmount":10,"partnerId":"${shop.id}"}`);
    expect(first.status).toBe(201);
    const again = await send(
      `{"partnerId":"${shop.id}", "note":"?", "totalAmount":10.00, "items":[{"qty":1,"boxId":"${item}"}]}`,
    );
    expect(again.body).toMatchObject({ status: 409, code: "DUPLICATE" });
  });

  test("the same key with another payload: CONFLICT; another user's same key: their own order", async () => {
    const item = await addMenuItem(shop, { price: 10 });
    expect((await order(anna, shop, [{ menuItemId: item, qty: 1 }], 10, "key-2")).status).toBe(201);
    expect((await order(anna, shop, [{ menuItemId: item, qty: 2 }], 20, "key-2")).body).toMatchObject({
      status: 409,
      code: "CONFLICT",
    });
    const boris = await user(client);
    expect((await order(boris, shop, [{ menuItemId: item, qty: 1 }], 10, "key-2")).status).toBe(201);
  });

  test("a refused order does not burn its key", async () => {
    const item = await addMenuItem(shop, { price: 10 });
    expect((await order(anna, shop, [{ menuItemId: item, qty: 1 }], 11, "key-3")).status).toBe(400);
    expect((await order(anna, shop, [{ menuItemId: item, qty: 1 }], 10, "key-3")).status).toBe(201);
  });

  test("after 24 hours the key is free, not a moment before", async () => {
    const item = await addMenuItem(shop, { price: 10 });
    const first = await order(anna, shop, [{ menuItemId: item, qty: 1 }], 10, "key-4");
    const age = (interval: string) =>
      sql`update idempotency_keys set created_at = now() - ${interval}::interval where user_id = ${anna.id}::uuid and key = 'key-4'`;
    await age("23 hours 59 minutes");
    expect((await order(anna, shop, [{ menuItemId: item, qty: 1 }], 10, "key-4")).body).toMatchObject({
      code: "DUPLICATE",
    });
    await age("24 hours 1 second");
    const second = await order(anna, shop, [{ menuItemId: item, qty: 1 }], 10, "key-4");
    expect(second.status).toBe(201);
    expect(second.string("orderId")).not.toBe(first.string("orderId"));
    expect((await order(anna, shop, [{ menuItemId: item, qty: 1 }], 10, "key-4")).body).toMatchObject({
      code: "DUPLICATE",
      orderId: second.string("orderId"),
    });
  });

  test.each([
    ["empty", ""],
    ["with a space", "a b"],
    ["of 256 characters", "k".repeat(256)],
  ])("%s: refused", async (_what, key) => {
    const item = await addMenuItem(shop, { price: 10 });
    expect((await order(anna, shop, [{ menuItemId: item, qty: 1 }], 10, key)).body).toMatchObject({
      status: 400,
      code: "VALIDATION_ERROR",
    });
  });

  test("20 requests with one key at once: one order, 19 duplicates of it", async () => {
    const box = await listBox(shop, { price: 10, quantity: 20 });
    // the first one is kept from writing its key until others have come as far as it lets them
    const release = await hold((tx) => tx`select from boxes where id = ${box}::uuid for update`);
    const ordering = Promise.all(
      Array.from({ length: 20 }, () => order(anna, shop, [{ menuItemId: box, qty: 1 }], 10, "at-once")),
    );
    await until(async () => (await countWaiting()) > 1);
    await release();
    const replies = await ordering;
    expect(statuses(replies)).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
    const ids = new Set(replies.map((reply) => reply.string("orderId")));
    expect(ids.size).toBe(1);
    expect(await stockOf(box)).toMatchObject({ available: 19, reserved: 1 });
  });
});

describe("under contention", () => {
  test("50 simultaneous orders for the last 10 boxes: exactly 10 succeed and none is left", async () => {
    const seller = await bakery(client);
    const box = await listBox(seller, { price: 10, quantity: 10 });
    const buyers = await Promise.all(Array.from({ length: 50 }, () => user(client)));
    const replies = await Promise.all(buyers.map((buyer) => order(buyer, seller, [{ menuItemId: box, qty: 1 }], 10)));
    expect(statuses(replies)).toEqual([
      ...Array.from({ length: 10 }, () => 201),
      ...Array.from({ length: 40 }, () => 409),
    ]);
    expect(await stockOf(box)).toEqual({ available: 0, reserved: 10, status: "SOLD_OUT" });
    expect(await traces(seller.id)).toMatchObject({ orders: 10, items: 10, events: 10, jobs: 10 });
  });

  test("orders for several boxes in opposite sequences never deadlock, and sell exactly what was there", async () => {
    const seller = await bakery(client);
    const boxes = await Promise.all(Array.from({ length: 4 }, () => listBox(seller, { price: 1, quantity: 30 })));
    const attempts = Array.from({ length: 60 }, (_, n) => {
      const lines = boxes.map((menuItemId) => ({ menuItemId, qty: 1 }));
      return order(anna, seller, n % 2 === 0 ? lines : lines.reverse(), 4);
    });
    const replies = await Promise.all(attempts);
    expect(statuses(replies)).toEqual([
      ...Array.from({ length: 30 }, () => 201),
      ...Array.from({ length: 30 }, () => 409),
    ]);
    for (const box of boxes) expect(await stockOf(box)).toEqual({ available: 0, reserved: 30, status: "SOLD_OUT" });
  });
});

describe("reading an order", () => {
  test("its customer sees it with the pickup code; its partner's people and admins without; nobody else at all", async () => {
    const box = await listBox(shop, { price: 10 });
    const placed = await order(anna, shop, [{ menuItemId: box, qty: 1 }], 10, undefined, { address: "Арбат, 10" });
    const path = `/api/v1/orders/${placed.string("orderId")}`;
    expect((await anna.client.get(path)).body).toMatchObject({
      orderId: placed.string("orderId"),
      status: "ACCEPTED",
      pickupCode: placed.string("pickupCode"),
      partnerId: shop.id,
      address: "Арбат, 10",
      totalAmount: 10,
      amountDue: 10,
      items: [{ menuItemId: box, name: newBox().title, price: 10, qty: 1 }],
    });
    const clerk = await user(client);
    await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${shop.id}::uuid)`;
    const ada = await admin(client);
    for (const reader of [shop.owner, clerk, ada]) {
      expect((await reader.client.get(path)).body).toMatchObject({
        orderId: placed.string("orderId"),
        pickupCode: null,
      });
    }
    const stranger = await bakery(client);
    for (const reader of [await user(client), stranger.owner]) {
      expect((await reader.client.get(path)).body).toMatchObject({ status: 404, code: "NOT_FOUND" });
    }
    expect((await client.get(path)).status).toBe(401);
    expect((await anna.client.get("/api/v1/orders/not-a-uuid")).status).toBe(404);
  });
});

/** Holds a box's row as another order would, until it is told to close the box's window and let go. */
async function sqlBlocker(boxId: string) {
  const { default: postgres } = await import("postgres");
  const other = postgres(process.env["DATABASE_URL"] ?? "", { max: 1 });
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let locked = () => {};
  const holding = new Promise<void>((resolve) => (locked = resolve));
  const done = other.begin(async (tx) => {
    await tx`select id from boxes where id = ${boxId}::uuid for update`;
    locked();
    await released;
    await tx`
      update boxes set pickup_window_start = now() - interval '1 hour', pickup_window_end = clock_timestamp()
      where id = ${boxId}::uuid`;
  });
  await holding;
  return {
    someoneWaits: async () => {
      for (;;) {
        const [row] = await sql<{ waiting: boolean }[]>`
          select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') as waiting`;
        if (row?.waiting) return;
      }
    },
    closeWindowAndRelease: async () => {
      release();
      await done;
      await other.end();
    },
  };
}
