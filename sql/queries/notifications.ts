import type { Db } from "../db.js";

/** A notification on its way to its user. */
export interface DueNotification {
  id: string;
  kind: string;
  expired: boolean;
}

/** Finds a notification that still has to be settled. */
export async function findDueNotification(db: Db, id: string): Promise<DueNotification | undefined> {
  const [row] = await db<DueNotification[]>`
    select id, kind, coalesce(expires_at <= now(), false) as expired
    from notifications
    where id = ${id}::uuid and status in ('QUEUED', 'DEFERRED')`;
  return row;
}

/** Settles a notification; false when that has happened before. */
export async function settleNotification(
  db: Db,
  id: string,
  status: "SENT" | "FAILED" | "DROPPED",
  reason: string | null = null,
): Promise<boolean> {
  const { count } = await db`
    update notifications
    set status = ${status}::notification_status, reason = ${reason}, settled_at = now()
    where id = ${id}::uuid and status in ('QUEUED', 'DEFERRED')`;
  return count === 1;
}

/** Writes who is to be told of a new order: its customer, and the partner's owner and staff; answers those that were not written before. */
export const insertOrderPlacedNotifications = (db: Db, orderId: string) =>
  db<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id, partner_id)
    select recipient.user_id, recipient.kind, o.id, o.partner_id
    from orders o
    cross join lateral (
      select o.user_id, 'ORDER_ACCEPTED' as kind where o.user_id is not null
      union all
      select p.owner_id, 'NEW_ORDER' from partners p where p.id = o.partner_id and p.owner_id is not null
      union all
      select s.user_id, 'NEW_ORDER' from partner_staff s where s.partner_id = o.partner_id
    ) as recipient
    where o.id = ${orderId}::uuid
    on conflict (order_id, user_id, kind) where order_id is not null do nothing
    returning id`;

export type NotificationStatus = "QUEUED" | "DEFERRED" | "SENT" | "FAILED" | "DROPPED";

export interface NotificationRow {
  id: string;
  kind: string;
  status: NotificationStatus;
  orderId: string | null;
  partnerId: string | null;
  createdAt: Date;
}

/** Lists a user's own notifications, newest first, after the one with id `after`. */
export const listNotifications = (db: Db, userId: string, after: string | null, limit: number) =>
  db<NotificationRow[]>`
    select id, kind, status, order_id as "orderId", partner_id as "partnerId", created_at as "createdAt"
    from notifications
    where user_id = ${userId}::uuid and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc
    limit ${limit}`;
