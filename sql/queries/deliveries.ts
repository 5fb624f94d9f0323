import type { DeliveryStatus, Settlement } from "../../lib/domain/notification-rules.js";
import type { Platform } from "../../lib/messaging/push-token.js";
import type { Db } from "../db.js";
import { hasRows } from "../rows.js";

/** A delivery, with its device if this run has claimed it. */
interface ClaimRow {
  deviceId: string | null;
  status: DeliveryStatus | null;
  reason: string | null;
  /** The device's address; null when the delivery is not claimed. */
  address: string | null;
  p256dh: string | null;
  auth: string | null;
  locale: string | null;
  unanswered: number | null;
}

/** Why the outcome of a delivery is unknown. */
const cutShort = "cut short while it was sent";

/** A device whose delivery this run has claimed. */
export interface ClaimedDevice {
  id: string;
  address: string;
  p256dh: string | null;
  auth: string | null;
  locale: string;
  /** How many deliveries in a row its push service left unanswered. */
  unanswered: number;
}

/**
 * Claims a notification's open deliveries, one per device of its user: those never tried, and those that the push service has
 * certainly not accepted. A delivery is identified by the device's address, which survives a new registration. A claim that is
 * `claimSeconds` old ends as UNKNOWN, because the push may have been sent; a delivery to a device that the user no longer has
 * ends as GONE. `others` are the deliveries that this run has not claimed. `claim` is the run's own: when the answer was lost,
 * the same claim may be made again until something is sent.
 */
export async function claimDeliveries(
  db: Db,
  notificationId: string,
  claimSeconds: number,
  claim: string,
): Promise<{ claimed: ClaimedDevice[]; others: { status: DeliveryStatus; reason: string | null }[] }> {
  const known = await db<ClaimRow[]>`
    with given_up as (
      update notification_deliveries known
      set status = case when status = 'SENDING' then 'UNKNOWN' else 'GONE' end::delivery_status,
          reason = case when status = 'SENDING' then ${cutShort} else 'no longer a device of this user' end,
          ended_at = now()
      where notification_id = ${notificationId}::uuid
        and (
          (
            status = 'SENDING' and started_at <= now() - interval '1 second' * ${claimSeconds}::integer
            and claim <> ${claim}::uuid
          )
          or (
            status = 'LATER'
            and not exists (
              select from notifications n
              join devices d on d.user_id = n.user_id and d.address_digest = known.address_digest
              where n.id = known.notification_id
            )
          )
        )
      returning address_digest, device_id, status, reason
    ), claimed as (
      insert into notification_deliveries as known (notification_id, device_id, platform, address_digest, claim)
      select n.id, d.id, d.platform, d.address_digest, ${claim}::uuid
      from notifications n
      join devices d on d.user_id = n.user_id
      where n.id = ${notificationId}::uuid and d.address_digest not in (select address_digest from given_up)
      order by d.id
      on conflict (notification_id, address_digest) do update set
        device_id = excluded.device_id, platform = excluded.platform, status = 'SENDING', reason = null,
        claim = excluded.claim, attempts = known.attempts + (known.status <> 'SENDING')::integer, started_at = now(),
        ended_at = null
      where known.status in ('LATER', 'GONE') and known.claim <> excluded.claim
         or known.status = 'SENDING' and known.claim = excluded.claim
      returning address_digest, device_id
    ), known as (
      select device_id, status, reason from given_up
      union all
      select k.device_id, k.status, k.reason
      from notification_deliveries k
      where k.notification_id = ${notificationId}::uuid and k.address_digest not in (select address_digest from given_up)
        and k.address_digest not in (select address_digest from claimed)
      union all
      select device_id, 'SENDING', null from claimed
    )
    select
      known.device_id, known.status, known.reason, d.address, d.p256dh, d.auth, d.locale, d.unanswered
    from known
    left join claimed on claimed.device_id = known.device_id
    left join devices d on d.id = claimed.device_id`;
  return {
    claimed: known.flatMap(({ deviceId: id, address, p256dh, auth, locale, unanswered }) =>
      id === null || address === null || locale === null || unanswered === null
        ? []
        : [{ id, address, p256dh, auth, locale, unanswered }],
    ),
    others: known.flatMap(({ address, status, reason }) =>
      address !== null || status === null ? [] : [{ status, reason }],
    ),
  };
}

/** Ends a notification's claims that are `claimSeconds` old: their runs were cut short, and the push may have been sent. */
export const endCutShort = (db: Db, notificationId: string, claimSeconds: number) =>
  db`
    update notification_deliveries
    set status = 'UNKNOWN', reason = ${cutShort}, ended_at = now()
    where notification_id = ${notificationId}::uuid and status = 'SENDING'
      and started_at <= now() - interval '1 second' * ${claimSeconds}::integer`;

export interface DeliveryResult {
  deviceId: string;
  status: Exclude<DeliveryStatus, "SENDING">;
  reason: string | null;
  /** Whether the push service was called: else this was no attempt. */
  called: boolean;
}

/**
 * Stores the results of claimed deliveries, deletes the devices that are GONE and, with a `settlement`, settles the notification
 * unless it has other open deliveries. One statement, because it runs for every push. Returns whether it settled the notification.
 */
export async function updateDeliveries(
  db: Db,
  notificationId: string,
  results: readonly DeliveryResult[],
  settlement: Settlement | null,
): Promise<boolean> {
  if (results.length === 0) return false;
  return hasRows(db<{ id: string }[]>`
    with result as (
      select *
      from unnest(
        ${results.map(({ deviceId }) => deviceId)}::uuid[],
        ${results.map(({ status }) => status)}::text[]::delivery_status[],
        ${results.map(({ reason }) => reason)}::text[],
        ${results.map(({ called }) => called)}::boolean[]
      ) as result (device_id, status, reason, called)
    ), updated as (
      update notification_deliveries delivery
      set status = result.status, reason = result.reason, ended_at = now(),
          attempts = delivery.attempts - (not result.called)::integer
      from result
      where delivery.notification_id = ${notificationId}::uuid and delivery.device_id = result.device_id
    ), deleted as (
      delete from devices where id in (select device_id from result where status = 'GONE')
    )
    update notifications
    set status = ${settlement?.status ?? "SENT"}::notification_status, reason = ${settlement?.reason ?? null}, settled_at = now()
    where ${settlement !== null}::boolean and id = ${notificationId}::uuid and status in ('QUEUED', 'DEFERRED', 'FAILED')
      and not exists (
        select from notification_deliveries other
        where other.notification_id = ${notificationId}::uuid and other.status in ('SENDING', 'LATER')
          and other.device_id not in (select device_id from result)
      )
    returning id`);
}

export interface Delivery {
  notificationId: string;
  deviceId: string;
  platform: Platform;
  status: DeliveryStatus;
  reason: string | null;
  attempts: number;
  startedAt: Date;
  endedAt: Date | null;
}

/** Lists the deliveries of notifications: at most one per device of a user. */
export const listDeliveries = (db: Db, notificationIds: readonly string[]) =>
  db<Delivery[]>`
    select
      notification_id, device_id, platform, status, reason, attempts, started_at, ended_at
    from notification_deliveries
    where notification_id = any(${[...notificationIds]}::uuid[])
    order by notification_id, device_id`;
