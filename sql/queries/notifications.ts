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
