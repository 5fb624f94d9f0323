import type { Db } from "../db.js";
import type { Subject } from "./notifications.js";

export type NotificationStatus = "QUEUED" | "DEFERRED" | "SENT" | "FAILED" | "DROPPED";

/** A notification as its user reads it. */
export interface InboxRow extends Subject {
  id: string;
  kind: string;
  status: NotificationStatus;
  /** The user's. */
  locale: string;
  createdAt: Date;
  readAt: Date | null;
}

/** Lists a user's own notifications, or those that are not read yet, with what their texts speak of, newest first, after the one with id `after`. */
export const listNotifications = (db: Db, userId: string, unread: boolean, after: string | null, limit: number) =>
  db<InboxRow[]>`
    with page as (
      select id, user_id, kind, status, order_id, partner_id, box_id, facts, created_at, read_at
      from notifications
      where user_id = ${userId}::uuid and (not ${unread}::boolean or read_at is null)
        and (${after}::uuid is null or id < ${after}::uuid)
      order by id desc
      limit ${limit}
    )
    select
      n.id, n.kind, n.status, u.locale, n.created_at as "createdAt", n.read_at as "readAt",
      n.order_id as "orderId", n.partner_id as "partnerId", n.box_id as "boxId", n.facts,
      partner.name as partner, partner.timezone as "partnerZone", city.timezone as "cityZone",
      b.title as box, b.price_minor as "boxPriceMinor", b.pickup_window_start as "boxFrom",
      b.pickup_window_end as "boxUntil",
      (select sum(i.qty)::integer from order_items i where i.order_id = n.order_id) as "orderItems",
      o.amount_due_minor as "orderPriceMinor", o.pickup_window_start as "orderFrom", o.pickup_window_end as "orderUntil",
      o.estimated_ready_at as "readyAt"
    from page n
    join users u on u.id = n.user_id
    left join partners partner on partner.id = n.partner_id
    left join cities city on city.id = partner.city_id
    left join orders o on o.id = n.order_id
    left join boxes b on b.id = n.box_id
    order by n.id desc`;

/** Marks those of a user's notifications as read that have one of these ids, and those up to `upTo`; answers how many were not. */
export async function updateRead(
  db: Db,
  userId: string,
  { ids, upTo }: { ids: readonly string[]; upTo: string | null },
): Promise<number> {
  const { count } = await db`
    update notifications
    set read_at = now()
    where user_id = ${userId}::uuid and read_at is null
      and (id = any(${[...ids]}::uuid[]) or id <= ${upTo}::uuid)`;
  return count;
}

/** A notification as somebody sees it who looks for why it did not come. */
export interface SupportRow {
  id: string;
  kind: string;
  status: NotificationStatus;
  reason: string | null;
  orderId: string | null;
  partnerId: string | null;
  boxId: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  settledAt: Date | null;
  readAt: Date | null;
}

/** Lists a user's notifications with how they ended, newest first, after the one with id `after`. */
export const listNotificationsForSupport = (db: Db, userId: string, after: string | null, limit: number) =>
  db<SupportRow[]>`
    select
      id, kind, status, reason, order_id as "orderId", partner_id as "partnerId", box_id as "boxId",
      created_at as "createdAt", expires_at as "expiresAt", settled_at as "settledAt", read_at as "readAt"
    from notifications
    where user_id = ${userId}::uuid and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc
    limit ${limit}`;

/** Deletes up to `limit` notifications that are half a year old; answers how many. */
export async function deleteOldNotifications(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    delete from notifications
    where id in (
      select id from notifications
      where id < first_id_at(now() - interval '180 days')
      order by id
      limit ${limit}
      for update skip locked
    )`;
  return count;
}
