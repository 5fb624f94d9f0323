import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { toMajor } from "../../../../lib/domain/money.js";
import { sql } from "../../../../sql/db.js";
import { addMenuItem, admin, bakery, listBox, newBox, user } from "../../../support/cast.js";
import { anna, client, shop } from "../../../support/order-scene.js";
import { order, statuses, stockOf, traces } from "../../../support/orders.js";

describe("placing an order", () => {
  test("reserves the boxes, fixes the amounts, records the event and stages its job", async () => {
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

  test("sets the ready time to the start of the pickup window or the end of the preparation time, whichever is later", async () => {
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

  test("charges the partner's commission, else the global one, else 15 %, rounded to the minor unit", async () => {
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

  test("accepts boxId for a box, ignores letter case, and sums lines for the same item", async () => {
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

  test("computes amounts that add up, for any prices and quantities", async () => {
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

describe("under contention", () => {
  test("50 concurrent orders for the last 10 boxes: exactly 10 succeed and none is left", async () => {
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

  test("orders for several boxes in opposite sequences never deadlock, and sell exactly the stock", async () => {
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
  test("the customer sees it with the pickup code, the partner's people and admins without; other users get 404", async () => {
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
