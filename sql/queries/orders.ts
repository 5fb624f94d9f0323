import { z } from "zod";
import type { Db } from "../db.js";

export type OrderStatus = "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";

export interface NewOrder {
  userId: string;
  partnerId: string;
  /** Each id once; it names a box or a menu item of the partner. */
  items: { id: string; qty: number }[];
  totalMinor: number;
  address: string | null;
  /** The client's Idempotency-Key with the digest of its canonical payload. */
  idempotency: { key: string; fingerprint: Buffer } | null;
  pickupCode: string;
  requestId: string | null;
}

const instant = z.iso.datetime({ offset: true }).transform((value) => new Date(value));
const orderStatus = z.enum(["ACCEPTED", "READY", "COMPLETED", "CANCELLED", "NO_SHOW"]);
const earlierOrder = { orderId: z.uuid(), orderStatus, estimatedReadyAt: instant };

/** What `place_order` (sql/functions/place_order.sql) answers. */
const Placement = z.discriminatedUnion("outcome", [
  z.object({
    outcome: z.literal("PLACED"),
    orderId: z.uuid(),
    status: orderStatus,
    estimatedReadyAt: instant,
    totalMinor: z.int(),
    items: z.array(z.object({ id: z.uuid(), name: z.string(), priceMinor: z.int(), qty: z.int() })),
  }),
  z.object({ outcome: z.literal("DUPLICATE"), ...earlierOrder }),
  z.object({ outcome: z.literal("KEY_REUSED"), ...earlierOrder }),
  z.object({ outcome: z.literal("NO_BUYER") }),
  z.object({ outcome: z.literal("NO_PARTNER") }),
  z.object({ outcome: z.literal("PARTNER_INACTIVE") }),
  z.object({ outcome: z.literal("UNKNOWN_ITEMS"), unknown: z.array(z.uuid()) }),
  z.object({ outcome: z.literal("WINDOW_CLOSED") }),
  z.object({ outcome: z.literal("NOT_ENOUGH"), available: z.array(z.object({ id: z.uuid(), available: z.int() })) }),
  z.object({ outcome: z.literal("WRONG_TOTAL"), expectedMinor: z.int() }),
]);

export type Placement = z.output<typeof Placement>;

/** Places an order as one statement: stock, totals, idempotency key, commission, events, notifications and their jobs, or nothing. */
export async function placeOrder(db: Db, order: NewOrder): Promise<Placement> {
  const [row] = await db<{ placement: unknown }[]>`
    select place_order(
      ${order.userId}::uuid,
      ${order.partnerId}::uuid,
      ${order.items.map(({ id }) => id)}::uuid[],
      ${order.items.map(({ qty }) => qty)}::integer[],
      ${order.totalMinor}::bigint,
      ${order.address}::text,
      ${order.idempotency?.key ?? null}::text,
      ${order.idempotency?.fingerprint ?? null}::bytea,
      ${order.pickupCode}::text,
      ${order.requestId}::text
    ) as placement`;
  return Placement.parse(row?.placement);
}

export interface OrderRow {
  id: string;
  userId: string;
  partnerId: string;
  status: OrderStatus;
  address: string | null;
  totalMinor: number;
  discountMinor: number;
  amountDueMinor: number;
  pickupCode: string;
  estimatedReadyAt: Date;
  createdAt: Date;
}

export interface OrderItemRow {
  id: string;
  name: string;
  priceMinor: number;
  qty: number;
}

/** Finds an order that `viewerId` may see: their own, or their partner's (as owner or staff); `anyones` lifts the restriction, for admins. */
export const findOrder = async (db: Db, id: string, viewerId: string, anyones = false) =>
  (
    await db<OrderRow[]>`
      select o.id, o.user_id as "userId", o.partner_id as "partnerId", o.status, o.address, o.total_minor as "totalMinor",
             o.discount_minor as "discountMinor", o.amount_due_minor as "amountDueMinor", o.pickup_code as "pickupCode",
             o.estimated_ready_at as "estimatedReadyAt", o.created_at as "createdAt"
      from orders o
      where o.id = ${id}::uuid
        and (
          ${anyones}::boolean
          or o.user_id = ${viewerId}::uuid
          or exists (select from partners p where p.id = o.partner_id and p.owner_id = ${viewerId}::uuid)
          or exists (select from partner_staff s where s.partner_id = o.partner_id and s.user_id = ${viewerId}::uuid)
        )`
  )[0];

/** Lists an order's lines in the order they were sent. */
export const listOrderItems = (db: Db, orderId: string) =>
  db<OrderItemRow[]>`
    select coalesce(box_id, menu_item_id) as id, name, price_minor as "priceMinor", qty
    from order_items
    where order_id = ${orderId}::uuid
    order by position`;

/** Deletes up to `limit` idempotency keys whose 24 hours are over; answers how many. */
export async function deleteOldIdempotencyKeys(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    delete from idempotency_keys
    where (user_id, key) in (
      select user_id, key from idempotency_keys where created_at < now() - interval '24 hours' limit ${limit}
    )`;
  return count;
}
