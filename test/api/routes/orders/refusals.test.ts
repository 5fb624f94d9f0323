import { describe, expect, test } from "@jest/globals";
import { sql } from "../../../../sql/db.js";
import type { Reply } from "../../../support/api.js";
import { addMenuItem, bakery, listBox, user, type Bakery } from "../../../support/cast.js";
import { anna, client, shop } from "../../../support/order-scene.js";
import { order, stockOf, traces } from "../../../support/orders.js";

describe("a refused order changes nothing:", () => {
  const refuses = async (seller: Bakery, attempt: () => Promise<Reply>, status: number, code: string) => {
    const before = await traces(seller.id);
    const reply = await attempt();
    expect(reply.body).toMatchObject({ status, code });
    expect(await traces(seller.id)).toEqual(before);
    return reply;
  };

  test("a wrong total, with the expected total in the answer", async () => {
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

  test("too many boxes, with the available number in the answer", async () => {
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

  test("items that are unknown, archived, unavailable, hidden or another partner's", async () => {
    const stranger = await bakery(client);
    const archived = await addMenuItem(shop, { price: 1 });
    await shop.owner.client.delete(`/api/v1/menu/items/${archived}`);
    const unavailable = await addMenuItem(shop, { price: 1, available: false });
    const hidden = await listBox(shop, { price: 1 });
    await sql`update boxes set hidden_at = now() where id = ${hidden}::uuid`;
    const foreignBox = await listBox(stranger, { price: 1 });
    const foreignItem = await addMenuItem(stranger, { price: 1 });
    const fine = await addMenuItem(shop, { price: 1 });
    for (const id of [crypto.randomUUID(), archived, unavailable, hidden, foreignBox, foreignItem]) {
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

  test("a line without an item, with the missing names in the answer", async () => {
    const reply = await refuses(shop, () => order(anna, shop, [{ qty: 1 }], 1), 400, "VALIDATION_ERROR");
    expect(reply.body["detail"]).toBe("items.0: needs menuItemId or boxId");
  });

  test("a line with two items, with both names in the answer", async () => {
    const [one, other] = [await listBox(shop, { price: 1 }), await listBox(shop, { price: 1 })];
    const line = { menuItemId: one, boxId: other, qty: 1 };
    const reply = await refuses(shop, () => order(anna, shop, [line], 1), 400, "VALIDATION_ERROR");
    expect(reply.body["errors"]).toEqual([
      { path: "items.0", message: "names two items; send either menuItemId or boxId" },
    ]);
    expect((await order(anna, shop, [{ ...line, menuItemId: null }], 1)).status).toBe(201);
    expect((await order(anna, shop, [{ ...line, menuItemId: other }], 1)).status).toBe(201);
  });

  test("boxes whose pickup window is over, which the answer names with its end", async () => {
    const open = await listBox(shop, { price: 1 });
    const over = await listBox(shop, { price: 1 });
    const [ended] = await sql<{ pickupWindowEnd: Date }[]>`
      update boxes set pickup_window_start = now() - interval '2 hours', pickup_window_end = now() - interval '1 second'
      where id = ${over}::uuid
      returning pickup_window_end`;
    const lines = [open, over].map((id) => ({ menuItemId: id, qty: 1 }));
    const attempt = () => order(anna, shop, lines, 2);
    const closed = { menuItemId: over, pickupWindowEnd: ended!.pickupWindowEnd.toISOString() };
    expect((await refuses(shop, attempt, 400, "VALIDATION_ERROR")).body).toMatchObject({
      reason: "WINDOW_CLOSED",
      errors: [{ path: "items", message: `the pickup window of ${over} is over` }],
      closed: [closed],
    });
    await sql`update boxes set status = 'EXPIRED' where id = ${over}::uuid`;
    expect((await refuses(shop, attempt, 400, "VALIDATION_ERROR")).body).toMatchObject({ closed: [closed] });
    const unknown = crypto.randomUUID();
    const withUnknown = () => order(anna, shop, [...lines, { menuItemId: unknown, qty: 1 }], 3);
    expect((await refuses(shop, withUnknown, 400, "VALIDATION_ERROR")).body).toMatchObject({
      reason: "UNKNOWN_ITEMS",
      unknown: [unknown],
    });
  });

  test("a partner that is unknown or not active", async () => {
    const asleep = await bakery(client);
    const item = await addMenuItem(asleep, { price: 1 });
    for (const status of ["SUSPENDED", "PENDING_REVIEW", "REJECTED"]) {
      await sql`update partners set status = ${status}::partner_status where id = ${asleep.id}::uuid`;
      await refuses(asleep, () => order(anna, asleep, [{ menuItemId: item, qty: 1 }], 1), 409, "CONFLICT");
    }
    const nowhere = { ...asleep, id: crypto.randomUUID() };
    await refuses(asleep, () => order(anna, nowhere, [{ menuItemId: item, qty: 1 }], 1), 400, "VALIDATION_ERROR");
  });

  test("a buyer whose account is deleted", async () => {
    const gone = await user(client);
    await sql`update users set deleted_at = now() where id = ${gone.id}::uuid`;
    const item = await addMenuItem(shop, { price: 1 });
    await refuses(shop, () => order(gone, shop, [{ menuItemId: item, qty: 1 }], 1), 401, "UNAUTHORIZED");
  });

  test("a window that closes while the order waits for a lock", async () => {
    const box = await listBox(shop, { price: 1 });
    const blocker = await sqlBlocker(box);
    const waiting = order(anna, shop, [{ menuItemId: box, qty: 1 }], 1);
    await blocker.untilBlocked();
    await blocker.closeWindowAndRelease();
    expect((await waiting).body).toMatchObject({
      status: 409,
      code: "CONFLICT",
      reason: "WINDOW_JUST_CLOSED",
      closed: [{ menuItemId: box }],
    });
    expect(await stockOf(box)).toMatchObject({ available: 10, reserved: 0 });
  });

  test.each([
    ["no items", { items: [] }],
    ["51 items", { items: Array.from({ length: 51 }, () => ({ menuItemId: crypto.randomUUID(), qty: 1 })) }],
    ["qty 0", { items: [{ menuItemId: crypto.randomUUID(), qty: 0 }] }],
    ["qty 101", { items: [{ menuItemId: crypto.randomUUID(), qty: 101 }] }],
    ["qty 1.5", { items: [{ menuItemId: crypto.randomUUID(), qty: 1.5 }] }],
    ["an invalid id", { items: [{ menuItemId: "bun", qty: 1 }] }],
    ["a negative total", { totalAmount: -1 }],
    ["three decimals", { totalAmount: 1.001 }],
    ["a total as text", { totalAmount: "1" }],
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

  test("more than 100 of one item, also as the sum of several lines", async () => {
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

  test("no token", async () => {
    expect((await order({ ...anna, client }, shop, [], 1)).body).toMatchObject({ status: 401, code: "UNAUTHORIZED" });
  });
});

/** Locks a box's row as another order would, then closes the box's window and releases the lock. */
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
    untilBlocked: async () => {
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
