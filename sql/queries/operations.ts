import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";
import { firstRow, onlyRow } from "../rows.js";

/** What an operator may look for. */
export const foundKinds = [
  "ORDER",
  "NOTIFICATION",
  "PARTNER",
  "USER",
  "BOX",
  "FILE",
  "MENU_IMPORT",
  "POS_SYNC",
  "POS_EVENT",
  "JOB",
] as const;

/** Something that a search found: what it is, and its state in a word; no personal data. */
export interface FoundRow<Kind = (typeof foundKinds)[number]> {
  kind: Kind;
  id: string;
  state: string;
  at: Date;
}

/** Finds what has this id. */
export const findById = async (db: Db, id: string): Promise<FoundRow[]> =>
  (
    await Promise.all([
      db<FoundRow<"ORDER">[]>`
        select 'ORDER' as kind, id::text, status::text as state, created_at as at from orders where id = ${id}::uuid`,
      db<FoundRow<"NOTIFICATION">[]>`
        select 'NOTIFICATION' as kind, id::text, status::text as state, created_at as at from notifications where id = ${id}::uuid`,
      db<FoundRow<"PARTNER">[]>`
        select 'PARTNER' as kind, id::text, status::text as state, created_at as at from partners where id = ${id}::uuid`,
      db<FoundRow<"BOX">[]>`
        select 'BOX' as kind, id::text, status::text as state, created_at as at from boxes where id = ${id}::uuid`,
      db<FoundRow<"FILE">[]>`
        select 'FILE' as kind, id::text, status::text as state, created_at as at from files where id = ${id}::uuid`,
      db<FoundRow<"MENU_IMPORT">[]>`
        select 'MENU_IMPORT' as kind, id::text, status::text as state, created_at as at from menu_imports where id = ${id}::uuid`,
      db<FoundRow<"POS_SYNC">[]>`
        select 'POS_SYNC' as kind, id::text, status::text as state, created_at as at from pos_syncs where id = ${id}::uuid`,
      db<(FoundRow<"USER"> & { state: "ACTIVE" | "DELETED" })[]>`
        select 'USER' as kind, id::text, case when deleted_at is null then 'ACTIVE' else 'DELETED' end as state, created_at as at
        from users
        where id = ${id}::uuid`,
    ])
  ).flat();

/** Finds the POS event with this number. */
export const findPosEventByNumber = (db: Db, number: string) =>
  db<FoundRow<"POS_EVENT">[]>`
    select 'POS_EVENT' as kind, id::text, status::text as state, received_at as at from pos_events where id = ${number}::bigint`;

/**
 * Finds the orders that wait to be picked up with this code; several partners may have one with the same. It reads all open orders:
 * an index would cost every order more than an operator's search now and then.
 */
export const findByPickupCode = (db: Db, code: string, limit: number) =>
  db<FoundRow<"ORDER">[]>`
    select 'ORDER' as kind, id::text, status::text as state, created_at as at
    from orders
    where status in ('ACCEPTED', 'READY') and pickup_code = ${code}
    order by no_show_at
    limit ${limit}`;

/** Finds the user and the partners with this phone, and the user's latest orders. */
export const findByPhone = async (db: Db, phone: string, limit: number): Promise<FoundRow[]> =>
  (
    await Promise.all([
      db<(FoundRow<"USER"> & { state: "ACTIVE" })[]>`
        select 'USER' as kind, id::text, 'ACTIVE' as state, created_at as at
        from users
        where phone = ${phone} and deleted_at is null`,
      db<FoundRow<"PARTNER">[]>`
        select 'PARTNER' as kind, id::text, status::text as state, created_at as at from partners where phone = ${phone}`,
      db<FoundRow<"ORDER">[]>`
        select 'ORDER' as kind, id::text, status::text as state, created_at as at
        from orders
        where user_id = (select u.id from users u where u.phone = ${phone} and u.deleted_at is null)
        order by orders.id desc
        limit ${limit}`,
    ])
  ).flat();

/** An order as an operator sees it, without its customer's data. */
export interface OrderFacts {
  id: string;
  partnerId: string;
  userId: string | null;
  status: Enum<"orderStatus">;
  createdAt: Date;
  noShowAt: Date;
}

/** How to reach the customer of an order: personal data. */
export interface OrderContact {
  phone: string | null;
  address: string | null;
}

/** Finds how to reach the customer of an order; undefined when there is no such order. */
export const findOrderContact = (db: Db, id: string) =>
  firstRow(db<OrderContact[]>`
    select u.phone, o.address
    from orders o
    left join users u on u.id = o.user_id
    where o.id = ${id}::uuid`);

/** Finds an order's facts; undefined when there is none. */
export const findOrderFacts = (db: Db, id: string) =>
  firstRow(db<OrderFacts[]>`
    select id, partner_id, user_id, status, created_at, no_show_at from orders where id = ${id}::uuid`);

/** One move of an order. */
export interface MoveRow {
  at: Date;
  actor: Enum<"orderActor">;
  fromStatus: Enum<"orderStatus"> | null;
  toStatus: Enum<"orderStatus">;
}

/** Lists an order's moves, oldest first. */
export const listMoves = (db: Db, orderId: string) =>
  db<MoveRow[]>`
    select at, actor_role as actor, from_status, to_status from order_events where order_id = ${orderId}::uuid order by position`;

/** A notification as an operator sees it. */
export interface NotificationFacts {
  id: string;
  userId: string;
  orderId: string | null;
  kind: string;
  status: Enum<"notificationStatus">;
  reason: string | null;
  createdAt: Date;
  settledAt: Date | null;
  readAt: Date | null;
}

/** Lists the notifications about an order, oldest first. */
export const listNotificationsOfOrder = (db: Db, orderId: string) =>
  db<(NotificationFacts & { orderId: string })[]>`
    select id, user_id, order_id, kind, status, reason, created_at, settled_at, read_at
    from notifications
    where order_id = ${orderId}::uuid and order_id is not null
    order by id`;

/** Lists the facts of notifications, oldest first. */
export const listNotificationFacts = (db: Db, ids: readonly string[]) =>
  db<NotificationFacts[]>`
    select id, user_id, order_id, kind, status, reason, created_at, settled_at, read_at
    from notifications
    where id = any (${[...ids]}::uuid[])
    order by id`;

/** Counts what waits for an operator beside dead jobs: parked POS events, of the partners that have any. */
export const countParkedEvents = (db: Db) =>
  onlyRow(db<{ events: number; partners: number }[]>`
    select count(*) as events, count(distinct partner_id) as partners
    from (select partner_id from pos_events where status = 'PARKED' order by id limit 10000) as parked`);

/** Counts the POS events that are to be applied, at most ten thousand, and says for how long the first of those that are due has been so. */
export const countQueuedEvents = (db: Db) =>
  onlyRow(db<{ events: number; dueSeconds: number }[]>`
    select count(*) as events,
           coalesce(
             extract(epoch from now() - min(next_attempt_at) filter (where next_attempt_at <= now())), 0
           )::double precision as due_seconds
    from (select next_attempt_at from pos_events where status = 'QUEUED' order by id limit 10000) as queued`);

/** How many POS events of a partner are not applied. */
export interface PartnerEvents {
  partnerId: string;
  partner: string;
  queued: number;
  parked: number;
  /** When the first of them came in. */
  oldestAt: Date;
}

/** Lists the partners with the most POS events that are not applied, of the first ten thousand that are queued and as many that are parked. */
export const listPartnerEvents = (db: Db, limit: number) =>
  db<PartnerEvents[]>`
    with events as materialized (
      (select partner_id, status, received_at from pos_events where status = 'QUEUED' order by id limit 10000)
      union all
      (select partner_id, status, received_at from pos_events where status = 'PARKED' order by id limit 10000)
    ), counts as materialized (
      select partner_id, count(*) filter (where status = 'QUEUED') as queued, count(*) filter (where status = 'PARKED') as parked,
             min(received_at) as oldest_at
      from events
      group by partner_id
      order by count(*) desc, partner_id
      limit ${limit}
    )
    select p.id as partner_id, p.name as partner, coalesce(c.queued, 0) as queued, coalesce(c.parked, 0) as parked,
           coalesce(c.oldest_at, now()) as oldest_at
    from counts c
    join partners p on p.id = c.partner_id
    order by c.queued + c.parked desc, p.id`;

/** Lists the names of partners. */
export const listPartnerNames = (db: Db, ids: readonly string[]) =>
  db<{ id: string; name: string }[]>`select id, name from partners where id = any (${[...ids]}::uuid[])`;
