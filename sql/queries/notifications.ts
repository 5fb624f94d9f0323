import { z } from "zod";
import type { Facts } from "../../lib/domain/announcements.js";
import { config } from "../../lib/process/config.js";
import type { OrderStatus } from "../../lib/domain/order-moves.js";
import type { Db } from "../db.js";
import { defaultPreferences } from "./preferences.js";

/** What a notification speaks of, as the rows have it that it is about. */
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
  level: z.enum(["BRONZE", "SILVER", "GOLD", "PLATINUM"]).nullable().default(null),
  rating: z.int().nullable().default(null),
  campaign: z.string().nullable().default(null),
});

/** The same as its text uses it. */
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

interface DueRow extends Subject {
  id: string;
  userId: string;
  kind: string;
  now: Date;
  createdAt: Date;
  expiresAt: Date | null;
  zone: string | null;
  push: boolean | null;
  marketing: boolean | null;
  quietHoursStart: string | null;
  quietHoursEnd: string | null;
  hasDevices: boolean | null;
  ofPartner: boolean;
  orderStatus: OrderStatus | null;
  onOffer: boolean | null;
}

/** Finds a notification that still has to be settled, with all that decides over it and that its text speaks of. */
export async function findDueNotification(db: Db, id: string) {
  const [row] = await db<DueRow[]>`
    with due as (
      select
        n.id, n.user_id, n.kind, n.order_id, n.partner_id, n.box_id, n.facts, n.created_at, n.expires_at,
        u.timezone, u.deleted_at is null and exists (select from devices d where d.user_id = u.id) as has_devices
      from notifications n
      join users u on u.id = n.user_id
      where n.id = ${id}::uuid and n.status in ('QUEUED', 'DEFERRED', 'FAILED')
    )
    select
      n.id, n.user_id as "userId", n.kind, now() as now, n.created_at as "createdAt", n.expires_at as "expiresAt",
      n.timezone as zone, p.push, p.marketing, p.quiet_hours_start::text as "quietHoursStart",
      p.quiet_hours_end::text as "quietHoursEnd", n.has_devices as "hasDevices",
      exists (select from people_of_partner(n.partner_id) as person where person = n.user_id) as "ofPartner", o.status as "orderStatus",
      case
        when b.id is not null
        then b.status = 'ACTIVE' and b.hidden_at is null and b.deleted_at is null and partner.status = 'ACTIVE'
      end as "onOffer",
      n.order_id as "orderId", n.partner_id as "partnerId", n.box_id as "boxId", n.facts,
      partner.name as partner, partner.timezone as "partnerZone", city.timezone as "cityZone",
      b.title as box, b.price_minor as "boxPriceMinor", b.pickup_window_start as "boxFrom",
      b.pickup_window_end as "boxUntil",
      (select sum(i.qty)::integer from order_items i where i.order_id = n.order_id) as "orderItems",
      o.amount_due_minor as "orderPriceMinor", o.pickup_window_start as "orderFrom", o.pickup_window_end as "orderUntil",
      o.estimated_ready_at as "readyAt"
    from due n
    left join notification_preferences p on p.user_id = n.user_id
    left join partners partner on partner.id = n.partner_id
    left join cities city on city.id = partner.city_id
    left join orders o on o.id = n.order_id
    left join boxes b on b.id = n.box_id`;
  if (!row) return undefined;
  return {
    id: row.id,
    userId: row.userId,
    kind: row.kind,
    subjectId: subjectOf(row.userId, row),
    facts: factsOf(row),
    /** The ids that an app needs to open the right screen. */
    data: Object.fromEntries(
      Object.entries({ orderId: row.orderId, partnerId: row.partnerId, boxId: row.boxId }).filter(
        (entry): entry is [string, string] => entry[1] !== null,
      ),
    ),
    now: row.now,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    preferences: {
      push: row.push ?? defaultPreferences.push,
      marketing: row.marketing ?? defaultPreferences.marketing,
    },
    quietHours: {
      start: row.quietHoursStart ?? defaultPreferences.quietHoursStart,
      end: row.quietHoursEnd ?? defaultPreferences.quietHoursEnd,
    },
    zone: row.zone ?? config.DEFAULT_TIMEZONE,
    hasDevices: row.hasDevices === true,
    ofPartner: row.ofPartner,
    orderStatus: row.orderStatus,
    onOffer: row.onOffer,
  };
}

/** Settles a notification; false when that has happened before. One that failed may still be sent when its job is run again. */
export async function settleNotification(
  db: Db,
  id: string,
  status: "SENT" | "FAILED" | "DROPPED",
  reason: string | null = null,
): Promise<boolean> {
  const { count } = await db`
    update notifications
    set status = ${status}::notification_status, reason = ${reason}, settled_at = now()
    where id = ${id}::uuid and status in ('QUEUED', 'DEFERRED', 'FAILED')`;
  return count === 1;
}

/** What a notification waits for: it says so to who looks for why it did not come. */
export type Delay = "quiet hours" | "the push service asks for patience";

const quietHours: Delay = "quiet hours";

/** Notes that a notification waits, and for what. */
export async function deferNotification(db: Db, id: string, reason: Delay): Promise<void> {
  await db`
    update notifications
    set status = 'DEFERRED', reason = ${reason}, settled_at = null
    where id = ${id}::uuid and status in ('QUEUED', 'DEFERRED', 'FAILED')`;
}

/**
 * Has what waits for a user's quiet hours to end decided over again now, because they have changed. `tx` has
 * `lockPreferences`, so that nothing begins to wait for the old end any more.
 */
export const hurryDeferred = (tx: Db, userId: string) =>
  tx`
    with waiting as materialized (
      -- quiet hours last less than a day, and what was put off before them is of no use after so long
      select id::text as id
      from notifications
      where user_id = ${userId}::uuid and id > first_id_at(now() - interval '8 days') and status = 'DEFERRED'
        and reason = ${quietHours}
    )
    update staged_jobs job
    set run_at = now(), next_send_at = now()
    from waiting
    where job.payload ->> 'notificationId' = waiting.id and job.queue = 'push' and job.run_at > job.created_at
      and job.run_at > now() and job.done_at is null and job.dead_at is null`;
