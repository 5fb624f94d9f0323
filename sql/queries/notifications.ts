import { z } from "zod";
import { config } from "../../lib/process/config.js";
import type { Enum } from "../../lib/domain/enums.js";
import { loyaltyLevels } from "../../lib/domain/loyalty-level.js";
import type { NotificationKind } from "../../lib/domain/notification-kinds.js";
import type { DueNotification, PushPreferences, Settlement } from "../../lib/domain/notification-rules.js";
import type { Facts } from "../../lib/domain/notification-texts.js";
import type { Db } from "../db.js";
import { countRows } from "../rows.js";
import { defaultPreferences } from "./preferences.js";
import type { Recipient } from "./recipient-lists.js";

/** What a notification is about, as stored. */
export interface Subject {
  orderId: string | null;
  partnerId: string | null;
  boxId: string | null;
  facts: unknown;
  partner: string | null;
  partnerZone: string | null;
  cityZone: string | null;
  box: string | null;
  boxPriceMinor: number | null;
  boxFrom: Date | null;
  boxUntil: Date | null;
  orderItems: number | null;
  orderPriceMinor: number | null;
  orderFrom: Date | null;
  orderUntil: Date | null;
  readyAt: Date | null;
}

const KeptFacts = z.object({
  points: z.int().nullable().default(null),
  level: z.enum(loyaltyLevels).nullable().default(null),
  rating: z.int().nullable().default(null),
  campaign: z.string().nullable().default(null),
  endpoint: z.string().nullable().default(null),
});

/** Returns the values for the notification's text. */
export const factsOf = (subject: Subject): Facts => ({
  ...KeptFacts.parse(subject.facts),
  partner: subject.partner,
  zone: subject.partnerZone ?? subject.cityZone ?? config.DEFAULT_TIMEZONE,
  box: subject.box,
  items: subject.orderItems,
  priceMinor: subject.orderPriceMinor ?? subject.boxPriceMinor,
  currency: config.CURRENCY,
  pickupFrom: subject.orderFrom ?? subject.readyAt ?? subject.boxFrom,
  pickupUntil: subject.orderUntil ?? subject.boxUntil,
});

const subjectOf = (userId: string, { boxId, orderId, partnerId }: Subject): string =>
  boxId ?? orderId ?? partnerId ?? userId;

/** Why a notification is deferred; support sees it as the reason. */
export type Delay = "quiet hours" | "the push service asks to wait" | "the push service is busy";

const quietHours: Delay = "quiet hours";

/** A notification to be inserted. */
export type NewNotification = Recipient & {
  readonly kind: NotificationKind;
  /** The request that caused it, if one did. */
  readonly requestId: string | null;
};

/** Inserts notifications, without repeating a kind for the same recipient and order, and stages the pushes of the new ones. */
export async function insertNotifications(db: Db, notifications: readonly NewNotification[]): Promise<void> {
  if (notifications.length === 0) return;
  await db<{ staged: string | null }[]>`
    with added as materialized (
      select new_id() as id, "userId", kind, "orderId", "partnerId", coalesce(facts, '{}') as facts, "requestId"
      from jsonb_to_recordset(${db.json(notifications)}) as added (
        "userId" uuid, kind text, "orderId" uuid, "partnerId" uuid, facts jsonb, "requestId" text
      )
    ), inserted as (
      insert into notifications (id, user_id, kind, order_id, partner_id, facts)
      select id, "userId", kind, "orderId", "partnerId", facts from added
      on conflict (order_id, user_id, kind) where order_id is not null do nothing
      returning id
    )
    select stage_jobs('push', jsonb_agg(jsonb_build_object('notificationId', id)), array_agg("requestId"))::text as staged
    from inserted
    join added using (id)
    having count(*) > 0`;
}

interface Row extends Subject, Omit<DueRow, "subjectId" | "facts" | "data" | "preferences" | "hasDevices"> {
  zone: string | null;
  push: boolean | null;
  marketing: boolean | null;
  quietHoursStart: string | null;
  quietHoursEnd: string | null;
  hasDevices: boolean | null;
}

/** An open notification, with the data for the decision to send it and for its text. */
export interface DueRow extends Omit<DueNotification, "kind"> {
  id: string;
  userId: string;
  /** May be unknown to this version of the code. */
  kind: string;
  subjectId: string;
  facts: Facts;
  /** The ids that an app needs to open the right screen. */
  data: Record<string, string>;
  /** The database's clock. */
  now: Date;
  /** When its order was placed; null without one, and when it waited for the end of quiet hours. */
  orderedAt: Date | null;
  preferences: PushPreferences;
}

/** Finds open notifications, with all that their push needs; undefined for one that is settled, or does not exist. */
export async function listDueNotifications(db: Db, ids: readonly string[]): Promise<(DueRow | undefined)[]> {
  const rows = await db<Row[]>`
    with due as (
      select
        n.id, n.user_id, n.kind, n.order_id, n.partner_id, n.box_id, n.facts, n.reason, n.created_at, n.expires_at,
        u.timezone, u.deleted_at is null and exists (select from devices d where d.user_id = u.id) as has_devices
      from notifications n
      join users u on u.id = n.user_id
      where n.id = any(${[...ids]}::uuid[]) and n.status in ('QUEUED', 'DEFERRED', 'FAILED')
    )
    select
      n.id, n.user_id, n.kind, now() as now, n.created_at, n.expires_at,
      n.timezone as zone, p.push, p.marketing, p.quiet_hours_start::text as quiet_hours_start,
      p.quiet_hours_end::text as quiet_hours_end, n.has_devices,
      exists (select from partner_members(n.partner_id) as person where person = n.user_id) as of_partner, o.status as order_status,
      case when b.id is not null then box_is_on_offer(b, partner)::boolean end as on_offer,
      n.order_id, n.partner_id, n.box_id, n.facts,
      partner.name as partner, partner.timezone as partner_zone, city.timezone as city_zone,
      b.title as box, b.price_minor as box_price_minor, b.pickup_window_start as box_from,
      b.pickup_window_end as box_until,
      (select sum(i.qty)::integer from order_items i where i.order_id = n.order_id) as order_items,
      o.amount_due_minor as order_price_minor, o.pickup_window_start as order_from, o.pickup_window_end as order_until,
      o.estimated_ready_at as ready_at,
      case when n.reason is distinct from ${quietHours}::text then o.created_at end as ordered_at
    from due n
    left join notification_preferences p on p.user_id = n.user_id
    left join partners partner on partner.id = n.partner_id
    left join cities city on city.id = partner.city_id
    left join orders o on o.id = n.order_id
    left join boxes b on b.id = n.box_id`;
  const found = new Map(rows.map((row) => [row.id, dueRowOf(row)]));
  return ids.map((id) => found.get(id));
}

function dueRowOf(row: Row): DueRow {
  return {
    ...row,
    subjectId: subjectOf(row.userId, row),
    facts: factsOf(row),
    data: Object.fromEntries(
      Object.entries({ orderId: row.orderId, partnerId: row.partnerId, boxId: row.boxId }).filter(
        (entry): entry is [string, string] => entry[1] !== null,
      ),
    ),
    preferences: {
      push: row.push ?? defaultPreferences.push,
      marketing: row.marketing ?? defaultPreferences.marketing,
      quietHours: {
        start: row.quietHoursStart ?? defaultPreferences.quietHoursStart,
        end: row.quietHoursEnd ?? defaultPreferences.quietHoursEnd,
      },
      zone: row.zone ?? config.DEFAULT_TIMEZONE,
    },
    hasDevices: row.hasDevices === true,
  };
}

/** Defers or settles an open notification. A FAILED one counts as open, because its job may be replayed. */
export const updateNotificationStatus = (
  db: Db,
  id: string,
  { status, reason }: Settlement | { status: "DEFERRED"; reason: Delay },
) =>
  db`
    update notifications
    set status = ${status}::notification_status, reason = ${reason},
        settled_at = case when ${status}::notification_status <> 'DEFERRED' then now() end
    where id = ${id}::uuid and status in ('QUEUED', 'DEFERRED', 'FAILED')`;

/**
 * Makes the jobs due now that wait for the end of a user's quiet hours, after a change of these. `tx` has `lockPreferences`, so
 * that no job starts waiting for the old end in the meantime.
 */
export const bringDeferredForward = (tx: Db, userId: string) =>
  tx`
    select from bring_jobs_forward(
      'push',
      array(
        -- quiet hours last less than a day, and no notification that was deferred is of use for longer than this
        select id::text
        from notifications
        where user_id = ${userId}::uuid and (user_id, id) > (${userId}::uuid, first_id_at(now() - interval '8 days')) and status = 'DEFERRED'
          and reason = ${quietHours}
      )
    )`;

/** A notification as its user reads it. */
export interface NotificationRow extends Subject {
  id: string;
  kind: string;
  status: Enum<"notificationStatus">;
  /** The user's locale. */
  locale: string;
  createdAt: Date;
  readAt: Date | null;
}

/** Lists a user's notifications, all or unread ones, with the data for their texts, newest first, after the one with id `after`. */
export const listNotifications = (db: Db, userId: string, unread: boolean, after: string | null, limit: number) =>
  db<NotificationRow[]>`
    with page as (
      select id, user_id, kind, status, order_id, partner_id, box_id, facts, created_at, read_at
      from notifications
      where user_id = ${userId}::uuid and (not ${unread}::boolean or read_at is null)
        and (${after}::uuid is null or id < ${after}::uuid)
      order by id desc
      limit ${limit}
    )
    select
      n.id, n.kind, n.status, u.locale, n.created_at, n.read_at,
      n.order_id, n.partner_id, n.box_id, n.facts,
      partner.name as partner, partner.timezone as partner_zone, city.timezone as city_zone,
      b.title as box, b.price_minor as box_price_minor, b.pickup_window_start as box_from,
      b.pickup_window_end as box_until,
      (select sum(i.qty)::integer from order_items i where i.order_id = n.order_id) as order_items,
      o.amount_due_minor as order_price_minor, o.pickup_window_start as order_from, o.pickup_window_end as order_until,
      o.estimated_ready_at as ready_at
    from page n
    join users u on u.id = n.user_id
    left join partners partner on partner.id = n.partner_id
    left join cities city on city.id = partner.city_id
    left join orders o on o.id = n.order_id
    left join boxes b on b.id = n.box_id
    order by n.id desc`;

/** Marks a user's unread notifications with these ids, and all up to the id `upTo`, as read; returns their number. */
export const updateRead = (db: Db, userId: string, { ids, upTo }: { ids: readonly string[]; upTo: string | null }) =>
  countRows(db`
    update notifications
    set read_at = now()
    where user_id = ${userId}::uuid and read_at is null
      and (id = any(${[...ids]}::uuid[]) or id <= ${upTo}::uuid)`);

/** A notification as support sees it: why it was not delivered. */
export interface SupportRow extends Pick<
  NotificationRow,
  "id" | "kind" | "status" | "orderId" | "partnerId" | "boxId" | "createdAt" | "readAt"
> {
  reason: string | null;
  expiresAt: Date | null;
  settledAt: Date | null;
}

/** Lists a user's notifications with their status and reason, newest first, after the one with id `after`. */
export const listNotificationsForSupport = (db: Db, userId: string, after: string | null, limit: number) =>
  db<SupportRow[]>`
    select
      id, kind, status, reason, order_id, partner_id, box_id, created_at, expires_at, settled_at, read_at
    from notifications
    where user_id = ${userId}::uuid and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc
    limit ${limit}`;

/** Deletes up to `limit` notifications that are half a year old; returns their number. */
export const deleteOldNotifications = (db: Db, limit: number) =>
  countRows(db`
    delete from notifications
    where id = any (array(
      select id from notifications
      where id < first_id_at(now() - interval '180 days')
      order by id
      limit ${limit}
      for update skip locked
    ))`);
