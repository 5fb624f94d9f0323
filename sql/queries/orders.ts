import { z } from "zod";
import { enums } from "../../lib/domain/enums.js";
import { config } from "../../lib/process/config.js";
import { orderMoves, type OrderActor, type OrderMove, type OrderStatus } from "../../lib/domain/order-moves.js";
import { PromoRefusal } from "../../lib/domain/promo.js";
import type { Db } from "../db.js";
import { countRows } from "../rows.js";

export interface NewOrder {
  /** Null for an order from a POS whose customer has no account. */
  userId: string | null;
  /** The session that must not have ended, if any. */
  sessionId?: string | null;
  partnerId: string;
  /** Distinct ids of boxes or menu items of the partner. */
  items: { id: string; qty: number }[];
  totalMinor: number;
  address: string | null;
  /** A promo for this order; null: the buyer's attached promo, if any. */
  promoCode: string | null;
  /** Sold and paid for at a POS: no promo applies, and items may be unavailable. */
  takenElsewhere?: boolean;
  /** The client's Idempotency-Key with the digest of its canonical payload. */
  idempotency: { key: string; fingerprint: Buffer } | null;
  pickupCode: string;
  requestId: string | null;
}

const instant = z.iso.datetime({ offset: true }).transform((value) => new Date(value));
const orderStatus = z.enum(enums.orderStatus);
const closedBox = z.object({ id: z.uuid(), pickupWindowEnd: instant });
const earlierOrder = { orderId: z.uuid(), orderStatus, estimatedReadyAt: instant };

/** What `place_order` (sql/functions/place_order.sql) returns. */
const Placement = z.discriminatedUnion("outcome", [
  z.object({
    outcome: z.literal("PLACED"),
    orderId: z.uuid(),
    status: orderStatus,
    estimatedReadyAt: instant,
    totalMinor: z.int(),
    discountMinor: z.int(),
    items: z.array(z.object({ id: z.uuid(), name: z.string(), priceMinor: z.int(), qty: z.int() })),
  }),
  z.object({ outcome: z.literal("DUPLICATE"), ...earlierOrder }),
  z.object({ outcome: z.literal("KEY_REUSED"), ...earlierOrder }),
  z.object({ outcome: z.literal("NO_BUYER") }),
  z.object({ outcome: z.literal("NO_PARTNER") }),
  z.object({ outcome: z.literal("PARTNER_INACTIVE") }),
  z.object({ outcome: z.literal("UNKNOWN_ITEMS"), unknown: z.array(z.uuid()) }),
  z.object({ outcome: z.literal("TOO_MANY_OPEN"), allowed: z.int(), missed: z.int().nullable() }),
  z.object({ outcome: z.enum(["WINDOW_CLOSED", "WINDOW_JUST_CLOSED"]), closed: z.array(closedBox) }),
  z.object({ outcome: z.literal("NOT_ENOUGH"), available: z.array(z.object({ id: z.uuid(), available: z.int() })) }),
  z.object({
    outcome: z.literal("CUSTOMER_LIMIT"),
    limited: z.array(z.object({ id: z.uuid(), maxPerCustomer: z.int(), remaining: z.int() })),
  }),
  z.object({ outcome: z.literal("PROMO_REFUSED"), reason: PromoRefusal }),
  z.object({ outcome: z.literal("WRONG_TOTAL"), totalMinor: z.int(), discountMinor: z.int() }),
]);

export type Placement = z.output<typeof Placement>;

/** Places an order as one statement: stock, totals, idempotency key, promo, commission, event and job, or nothing. */
export async function placeOrder(db: Db, order: NewOrder): Promise<Placement> {
  const [row] = await db<{ placement: unknown }[]>`
    select place_order(
      ${order.userId}::uuid,
      ${order.partnerId}::uuid,
      ${order.items.map(({ id }) => id)}::uuid[],
      ${order.items.map(({ qty }) => qty)}::integer[],
      ${order.totalMinor}::bigint,
      ${order.address}::text,
      ${order.promoCode}::text,
      ${order.idempotency?.key ?? null}::text,
      ${order.idempotency?.fingerprint ?? null}::bytea,
      ${order.pickupCode}::text,
      ${order.requestId}::text,
      ${order.takenElsewhere === true}::boolean,
      ${config.ORDERS_OPEN_MAX}::integer,
      ${order.sessionId ?? null}::uuid
    ) as placement`;
  return Placement.parse(row?.placement);
}

export interface OrderItemRow {
  id: string;
  name: string;
  priceMinor: number;
  qty: number;
}

export interface OrderRow {
  id: string;
  /** Null for an order from a POS whose customer has no account. */
  userId: string | null;
  partnerId: string;
  status: OrderStatus;
  address: string | null;
  totalMinor: number;
  discountMinor: number;
  amountDueMinor: number;
  pickupCode: string;
  pickupWindowStart: Date | null;
  pickupWindowEnd: Date | null;
  estimatedReadyAt: Date;
  createdAt: Date;
  items: OrderItemRow[] | null;
}

/** Lists these orders, newest first. */
const listOrders = (db: Db, orders: readonly { id: string }[]) =>
  db<OrderRow[]>`
    select o.id, o.user_id, o.partner_id, o.status, o.address, o.total_minor, o.discount_minor, o.amount_due_minor,
           o.pickup_code, o.pickup_window_start, o.pickup_window_end, o.estimated_ready_at, o.created_at,
           (
             select jsonb_agg(
               jsonb_build_object(
                 'id', coalesce(i.box_id, i.menu_item_id), 'name', i.name, 'priceMinor', i.price_minor, 'qty', i.qty
               )
               order by i.position
             )
             from order_items i
             where i.order_id = o.id
           ) as items
    from orders o
    where o.id = any (${orders.map(({ id }) => id)}::uuid[])
    order by o.id desc`;

/** Finds an order that `viewerId` may see: as its customer, as owner or staff of its partner, or any with `asAdmin`. */
export async function findOrder(db: Db, id: string, viewerId: string, asAdmin = false): Promise<OrderRow | undefined> {
  const visible = await db<{ id: string }[]>`
    select o.id
    from orders o
    where o.id = ${id}::uuid
      and (
        ${asAdmin}::boolean
        or o.user_id = ${viewerId}::uuid
        or exists (select from partners p where p.id = o.partner_id and p.owner_id = ${viewerId}::uuid)
        or exists (select from partner_staff s where s.partner_id = o.partner_id and s.user_id = ${viewerId}::uuid)
      )`;
  return visible.length === 0 ? undefined : (await listOrders(db, visible))[0];
}

/** Lists a customer's orders with any of `statuses`, newest first, after the one with id `after`. */
export const listOrdersOfUser = async (
  db: Db,
  userId: string,
  statuses: readonly OrderStatus[],
  after: string | null,
  limit: number,
) =>
  listOrders(
    db,
    await db<{ id: string }[]>`
      select id
      from orders
      where user_id = ${userId}::uuid
        and status = any (${[...statuses]}::order_status[])
        and (${after}::uuid is null or id < ${after}::uuid)
      order by id desc
      limit ${limit}`,
  );

/** Lists a partner's orders with any of `statuses`, newest first, after the one with id `after`. */
export const listOrdersOfPartner = async (
  db: Db,
  partnerId: string,
  statuses: readonly OrderStatus[],
  after: string | null,
  limit: number,
) =>
  listOrders(
    db,
    // a query per status, by index: finds a partner's few open orders without reading all its orders
    await db<{ id: string }[]>`
      select found.id
      from unnest(${[...statuses]}::order_status[]) as wanted (status)
      cross join lateral (
        select o.id
        from orders o
        where o.partner_id = ${partnerId}::uuid and o.status = wanted.status and (${after}::uuid is null or o.id < ${after}::uuid)
        order by o.id desc
        limit ${limit}
      ) as found
      order by found.id desc
      limit ${limit}`,
  );

/** What `move_order` (sql/functions/move_order.sql) returns: the outcome, and the order's present status. */
const OrderMoved = z.object({
  outcome: z.enum(["MOVED", "ALREADY", "NOT_ALLOWED", "TOO_LATE", "WRONG_CODE"]),
  status: orderStatus,
});

export type OrderMoved = z.output<typeof OrderMoved>;

/** Who moves an order: its customer, its partner, or the service itself. */
export type OrderMover =
  | { actor: "CUSTOMER"; userId: string }
  | { actor: "PARTNER"; /** Null when the partner's POS moves it. */ userId: string | null; partnerId: string }
  | { actor: "SERVICE" };

/**
 * Moves an order as one statement, with its event, its stock, its promo use, the customer's points and its jobs; undefined when
 * the mover has no such order. With `pickupCode` it must be the order's.
 */
export async function moveOrder(
  db: Db,
  id: string,
  move: OrderMove,
  mover: OrderMover,
  { pickupCode = null, requestId = null }: { pickupCode?: string | null; requestId?: string | null } = {},
): Promise<OrderMoved | undefined> {
  const { from, by } = orderMoves[move];
  const movers: readonly OrderActor[] = by;
  const allowed: OrderStatus[] = movers.includes(mover.actor) ? [...from] : [];
  const [moved] = await db<{ outcome: string | null; status: OrderStatus | null }[]>`
    select outcome, status
    from move_order(
      ${id}::uuid,
      ${move}::order_status,
      ${allowed}::order_status[],
      ${mover.actor}::order_actor,
      ${mover.actor === "SERVICE" ? null : mover.userId}::uuid,
      ${mover.actor === "CUSTOMER" ? mover.userId : null}::uuid,
      ${mover.actor === "PARTNER" ? mover.partnerId : null}::uuid,
      ${pickupCode}::text,
      ${requestId}::text,
      ${config.POINTS_PER_ORDER_MAX}::integer,
      ${config.POINTS_PER_DAY_MAX}::integer
    )`;
  return moved && OrderMoved.parse(moved);
}

/** Lists up to `limit` open orders that are past their time for pickup. */
export const listOverdueOrders = (db: Db, limit: number) =>
  db<{ id: string }[]>`
    select id from orders where status in ('ACCEPTED', 'READY') and no_show_at <= now() order by no_show_at limit ${limit}`;

export interface OrderEventRow {
  from: OrderStatus | null;
  to: OrderStatus;
  by: OrderActor;
  at: Date;
}

/** Lists an order's status changes, oldest first. */
export const listOrderEvents = (db: Db, orderId: string) =>
  db<OrderEventRow[]>`
    select from_status as "from", to_status as "to", actor_role as "by", at
    from order_events
    where order_id = ${orderId}::uuid
    order by position`;

/** Deletes up to `limit` expired idempotency keys; returns their number. */
export const deleteOldIdempotencyKeys = (db: Db, limit: number) =>
  countRows(db`
    delete from idempotency_keys
    where ctid = any (array(
      select ctid from idempotency_keys where created_at < now() - idempotency_key_lifetime() limit ${limit}
      for update skip locked
    ))`);
