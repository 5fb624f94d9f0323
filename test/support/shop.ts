import { expect } from "@jest/globals";
import { sql } from "../../sql/db.js";
import type { Client, Reply } from "./api.js";
import { addMenuItem, bakery, user, type Bakery, type Character } from "./cast.js";
import { makeReachable } from "./notifications.js";
import { until } from "./until.js";

/** A bakery that sells rolls, and someone who likes them. */
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

/** Orders rolls, all at once; answers the orders' ids once all are accepted. */
export async function orderRolls(shop: Shop, count: number): Promise<string[]> {
  const replies = await Promise.all(Array.from({ length: count }, () => orderRoll(shop)));
  return replies.map((reply) => {
    expect(reply.status).toBe(201);
    return reply.string("orderId");
  });
}

export interface Told {
  id: string;
  kind: string;
  userId: string;
  status: string;
}

/** What the people of these orders have been or will be told. */
export const listTold = (orderIds: readonly string[]) =>
  sql<Told[]>`
    select id, kind, user_id as "userId", status::text
    from notifications
    where order_id = any(${[...orderIds]}::uuid[])
    order by id`;

/** How many of these orders' notifications are out. */
export const countSent = async (orderIds: readonly string[]) =>
  (await listTold(orderIds)).filter(({ status }) => status === "SENT").length;

/** Waits until the customer and the bakery have been told of each of these orders, and everything that was staged is done; each was told once. */
export async function everyoneTold({ customer, bakery: { owner } }: Shop, orderIds: readonly string[]): Promise<void> {
  await until(async () => (await countSent(orderIds)) >= 2 * orderIds.length);
  await until(async () => (await sql`select from staged_jobs where done_at is null`).length === 0);
  const told = await listTold(orderIds);
  const wanted = { ORDER_ACCEPTED: customer.id, NEW_ORDER: owner.id };
  for (const [kind, userId] of Object.entries(wanted)) {
    const ofKind = told.filter((notification) => notification.kind === kind);
    expect(ofKind).toHaveLength(orderIds.length);
    expect(new Set(ofKind.map((notification) => notification.userId))).toEqual(new Set([userId]));
  }
  expect(told).toHaveLength(2 * orderIds.length);
}
