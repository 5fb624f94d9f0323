import { sql } from "../../sql/db.js";
import { numberEvents } from "../../sql/queries/events.js";
import { moveOrder } from "../../sql/queries/orders.js";
import { bookLedger } from "../../workers/ledger.js";
import type { Client } from "./api.js";
import { addMenuItem, user, type Bakery } from "./cast.js";
import { task } from "./task.js";

// Helpers of the ledger's tests: a partner's orders, and the state of the ledger.

/** Numbers all events, as each worker process does continuously. */
export async function numberAll(): Promise<void> {
  while ((await numberEvents(sql, 1_000)) > 0);
}

/** Numbers and books all events; returns how many there were. */
export async function book(): Promise<number> {
  await numberAll();
  return bookLedger(task({ task: "book-ledger" }));
}

/** Places an order of a new customer; returns its id. */
export async function placeOrder(client: Client, shop: Bakery, price: number, promoCode?: string): Promise<string> {
  const customer = await user(client);
  const menuItemId = await addMenuItem(shop, { price });
  const placed = await customer.client.post("/api/v1/orders", {
    items: [{ menuItemId, qty: 1 }],
    totalAmount: price,
    partnerId: shop.id,
    ...(promoCode !== undefined && { promoCode }),
  });
  return placed.string("orderId");
}

/** Hands an order over, as the partner, with `at` as its time. */
export async function handOver(shop: Bakery, orderId: string, at?: Date): Promise<void> {
  await moveOrder(sql, orderId, "COMPLETED", { actor: "PARTNER", userId: shop.owner.id, partnerId: shop.id });
  if (at)
    await sql`update order_events set at = ${at}::timestamptz where order_id = ${orderId}::uuid and to_status = 'COMPLETED'`;
}

/** Places an order and hands it over; returns its id. */
export async function sell(client: Client, shop: Bakery, price: number, at?: Date): Promise<string> {
  const orderId = await placeOrder(client, shop, price);
  await handOver(shop, orderId, at);
  return orderId;
}

export interface Line {
  id: number;
  transactionId: string;
  account: string;
  kind: string;
  amountMinor: number;
  month: string;
}

/** The lines of a partner, in the order of booking. */
export const linesOf = (partnerId: string) =>
  sql<Line[]>`
    select id, transaction_id as "transactionId", account::text as account, kind::text as kind, amount_minor as "amountMinor",
           month::text as month
    from ledger_entries where partner_id = ${partnerId}::uuid order by id`;

/** Reads the sum of one of a partner's accounts. */
export const sumOf = (lines: readonly Line[], account: string) =>
  lines.filter((line) => line.account === account).reduce((sum, { amountMinor }) => sum + amountMinor, 0);

/** Opens the ledger from a month on, as if that were its first. */
export const openLedgerFrom = (month: string) =>
  sql`update ledger_state set open_month = ${month}::date, next_month = ${month}::date`;
