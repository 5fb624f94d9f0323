import { expect } from "@jest/globals";
import { sql } from "../../sql/db.js";
import type { Client, Reply } from "./api.js";
import { addMenuItem, bakery, user, type Bakery, type Character } from "./cast.js";
import { makeReachable } from "./notifications.js";
import { until } from "./until.js";

/** A bakery that sells rolls, and a customer. */
export interface Shop {
  bakery: Bakery;
  customer: Character;
  rollId: string;
}

export async function openShop(client: Client): Promise<Shop> {
  const [seller, customer] = [await bakery(client), await user(client)];
  await makeReachable([seller.owner.id, customer.id]);
  return { bakery: seller, customer, rollId: await addMenuItem(seller, { price: 60 }) };
}

/** Orders a roll. */
export const orderRoll = ({ bakery: { id }, customer, rollId }: Shop): Promise<Reply> =>
  customer.client.post("/api/v1/orders", {
    items: [{ menuItemId: rollId, qty: 1 }],
    totalAmount: 60,
    partnerId: id,
  });

/** Places this many orders concurrently; returns their ids. */
export async function orderRolls(shop: Shop, count: number): Promise<string[]> {
  const replies = await Promise.all(Array.from({ length: count }, () => orderRoll(shop)));
  return replies.map((reply) => {
    expect(reply.status).toBe(201);
    return reply.string("orderId");
  });
}

export interface OrderNotification {
  id: string;
  kind: string;
  userId: string;
  status: string;
}

/** Lists the notifications about these orders. */
export const listNotifications = (orderIds: readonly string[]) =>
  sql<OrderNotification[]>`
    select id, kind, user_id as "userId", status::text
    from notifications
    where order_id = any(${[...orderIds]}::uuid[])
    order by id`;

/** Counts the sent notifications about these orders. */
export const countSent = async (orderIds: readonly string[]) =>
  (await listNotifications(orderIds)).filter(({ status }) => status === "SENT").length;

/** Waits until all jobs are done, and expects one sent notification per order for the customer and one for the bakery. */
export async function waitForNotifications(
  { customer, bakery: { owner } }: Shop,
  orderIds: readonly string[],
): Promise<void> {
  await until(async () => (await countSent(orderIds)) >= 2 * orderIds.length);
  await until(async () => (await sql`select from staged_jobs where done_at is null`).length === 0);
  const notifications = await listNotifications(orderIds);
  const wanted = { ORDER_ACCEPTED: customer.id, NEW_ORDER: owner.id };
  for (const [kind, userId] of Object.entries(wanted)) {
    const ofKind = notifications.filter((notification) => notification.kind === kind);
    expect(ofKind).toHaveLength(orderIds.length);
    expect(new Set(ofKind.map((notification) => notification.userId))).toEqual(new Set([userId]));
  }
  expect(notifications).toHaveLength(2 * orderIds.length);
}
