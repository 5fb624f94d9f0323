import { describe, expect, test } from "@jest/globals";
import { sql } from "../../../../sql/db.js";
import { addMenuItem, listBox, user } from "../../../support/cast.js";
import { countBlocked, lockRows } from "../../../support/locks.js";
import { anna, client, shop } from "../../../support/order-scene.js";
import { order, statuses, stockOf } from "../../../support/orders.js";
import { until } from "../../../support/until.js";

describe("Idempotency-Key", () => {
  test("the same key and payload: DUPLICATE with the first order, before stock and totals are checked", async () => {
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

  test("payloads are compared by meaning: unknown fields and the order of fields do not matter", async () => {
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

  test("the same key with another payload: CONFLICT; the same key of another user: a new order", async () => {
    const item = await addMenuItem(shop, { price: 10 });
    expect((await order(anna, shop, [{ menuItemId: item, qty: 1 }], 10, "key-2")).status).toBe(201);
    expect((await order(anna, shop, [{ menuItemId: item, qty: 2 }], 20, "key-2")).body).toMatchObject({
      status: 409,
      code: "CONFLICT",
    });
    const boris = await user(client);
    expect((await order(boris, shop, [{ menuItemId: item, qty: 1 }], 10, "key-2")).status).toBe(201);
  });

  test("a refused order does not use up its key", async () => {
    const item = await addMenuItem(shop, { price: 10 });
    expect((await order(anna, shop, [{ menuItemId: item, qty: 1 }], 11, "key-3")).status).toBe(400);
    expect((await order(anna, shop, [{ menuItemId: item, qty: 1 }], 10, "key-3")).status).toBe(201);
  });

  test("a key can be reused after 24 hours, and no earlier", async () => {
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
  ])("a key that is %s: refused", async (_what, key) => {
    const item = await addMenuItem(shop, { price: 10 });
    expect((await order(anna, shop, [{ menuItemId: item, qty: 1 }], 10, key)).body).toMatchObject({
      status: 400,
      code: "VALIDATION_ERROR",
    });
  });

  test("20 concurrent requests with one key: one order and 19 duplicates of it", async () => {
    const box = await listBox(shop, { price: 10, quantity: 20 });
    // the first request cannot write its key until the others have got as far as they can
    const release = await lockRows((tx) => tx`select from boxes where id = ${box}::uuid for update`);
    const ordering = Promise.all(
      Array.from({ length: 20 }, () => order(anna, shop, [{ menuItemId: box, qty: 1 }], 10, "at-once")),
    );
    await until(async () => (await countBlocked()) > 0);
    await release();
    const replies = await ordering;
    expect(statuses(replies)).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
    const ids = new Set(replies.map((reply) => reply.string("orderId")));
    expect(ids.size).toBe(1);
    expect(await stockOf(box)).toMatchObject({ available: 19, reserved: 1 });
  });
});
