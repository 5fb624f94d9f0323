import { expect, test } from "@jest/globals";
import ICAL from "ical.js";
import { sql } from "../../../../sql/db.js";
import { outcome } from "../../../support/api.js";
import { addMenuItem, listBox, user } from "../../../support/cast.js";
import { anna, client, shop } from "../../../support/order-scene.js";
import { order } from "../../../support/orders.js";

const read = async (orderId: string, as = anna.client) => {
  const reply = await as.get(`/api/v1/orders/${orderId}/pickup.ics`);
  const event = ICAL.Component.fromString(reply.text).getFirstSubcomponent("vevent");
  return { reply, value: (name: string) => event?.getFirstPropertyValue(name)?.toString() };
};

test("the pickup of an order is an event in the customer's calendar, with its window in UTC", async () => {
  const pickupWindowStart = "2099-06-01T18:00:00+03:00";
  const pickupWindowEnd = "2099-06-01T20:30:00+03:00";
  const box = await listBox(shop, { price: 1, title: "Вечерний набор", pickupWindowStart, pickupWindowEnd });
  const placed = await order(anna, shop, [{ boxId: box, qty: 2 }], 2);
  const { reply, value } = await read(placed.string("orderId"));
  expect([reply.status, reply.headers.get("content-type"), reply.headers.get("cache-control")]).toEqual([
    200,
    "text/calendar; charset=utf-8",
    "private, no-store",
  ]);
  expect(reply.headers.get("content-disposition")).toBe('attachment; filename="pickup.ics"');
  expect(reply.text).toContain("DTSTART:20990601T150000Z\r\nDTEND:20990601T173000Z\r\n");
  expect(["uid", "status", "summary", "description", "location"].map(value)).toEqual([
    placed.string("orderId"),
    "CONFIRMED",
    "Забрать заказ: Булочная на углу",
    "2 × Вечерний набор",
    "Тверская улица, 1",
  ]);
  expect(reply.text).not.toContain(placed.string("pickupCode"));
});

test("an order without boxes is a moment: when it is ready", async () => {
  const placed = await order(anna, shop, [{ menuItemId: await addMenuItem(shop, { price: 1 }), qty: 1 }], 1);
  const { reply } = await read(placed.string("orderId"));
  const ready = placed.string("estimatedReadyAt").replace(/[-:]|\.\d+/g, "");
  expect(reply.text).toContain(`DTSTART:${ready}\r\nSTATUS`);
});

test("a cancelled order is the same event in a later version, and cancelled", async () => {
  const placed = await order(anna, shop, [{ menuItemId: await addMenuItem(shop, { price: 1 }), qty: 1 }], 1);
  const orderId = placed.string("orderId");
  const before = await read(orderId);
  await anna.client.post(`/api/v1/orders/${orderId}/cancel`);
  const after = await read(orderId);
  expect(after.value("status")).toBe("CANCELLED");
  expect(after.value("uid")).toBe(before.value("uid"));
  expect(Number(after.value("sequence"))).toBeGreaterThan(Number(before.value("sequence")));
});

test("the title is in the customer's language", async () => {
  const john = await user(client);
  await sql`update users set locale = 'en-GB' where id = ${john.id}::uuid`;
  const placed = await order(john, shop, [{ menuItemId: await addMenuItem(shop, { price: 1 }), qty: 1 }], 1);
  const { value } = await read(placed.string("orderId"), john.client);
  expect(value("summary")).toBe("Pick up your order: Булочная на углу");
});

test("the partner has no such event: 404", async () => {
  const placed = await order(anna, shop, [{ menuItemId: await addMenuItem(shop, { price: 1 }), qty: 1 }], 1);
  const refused = await shop.owner.client.get(`/api/v1/orders/${placed.string("orderId")}/pickup.ics`);
  expect(outcome(refused)).toBe("404 NOT_FOUND");
});
