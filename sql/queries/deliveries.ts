import type { DeliveryStatus, Settlement } from "../../lib/domain/notification-rules.js";
import type { Platform } from "../../lib/messaging/push-token.js";
import type { Db } from "../db.js";
import type { JobRun } from "../outbox.js";

/** A delivery, with its device if this run has claimed it. */
interface ClaimRow {
  notificationId: string | null;
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

/** One run's claim of a notification's deliveries. */
export interface Claim {
  readonly notificationId: string;
  /** The run's own: when the answer was lost, the same claim may be made again until something is sent. */
  readonly token: string;
}

export interface Claimed {
  readonly claimed: ClaimedDevice[];
  /** The deliveries that this run has not claimed. */
  readonly others: { status: DeliveryStatus; reason: string | null }[];
}

/**
 * Claims the open deliveries of notifications, one per device of their users: those never tried, and those that the push service
 * has certainly not accepted. A delivery is identified by the device's address, which survives a new registration. A claim that is
 * `claimSeconds` old ends as UNKNOWN, because the push may have been sent; a delivery to a device that the user no longer has
 * ends as GONE. Each notification is claimed once.
 */
export async function claimDeliveries(db: Db, claims: readonly Claim[], claimSeconds: number): Promise<Claimed[]> {
  const rows = await db<ClaimRow[]>`
    with run as materialized (
      select run.notification_id, run.claim, (select n.user_id from notifications n where n.id = run.notification_id) as user_id
      from unnest(
        ${claims.map(({ notificationId }) => notificationId)}::uuid[], ${claims.map(({ token }) => token)}::uuid[]
      ) as run (notification_id, claim)
    ), given_up as (
      update notification_deliveries delivery
      set status = case when delivery.status = 'SENDING' then 'UNKNOWN' else 'GONE' end::delivery_status,
          reason = case when delivery.status = 'SENDING' then ${cutShort} else 'no longer a device of this user' end,
          ended_at = now()
      from run
      where delivery.notification_id = run.notification_id
        and (
          (
            delivery.status = 'SENDING' and delivery.started_at <= now() - interval '1 second' * ${claimSeconds}::integer
            and delivery.claim <> run.claim
          )
          or (
            delivery.status = 'LATER'
            and not exists (
              select from devices d where d.user_id = run.user_id and d.address_digest = delivery.address_digest
            )
          )
        )
      returning delivery.notification_id, delivery.address_digest, delivery.device_id, delivery.status, delivery.reason
    ), claimed as (
      insert into notification_deliveries as delivery (notification_id, device_id, platform, address_digest, claim)
      select run.notification_id, d.id, d.platform, d.address_digest, run.claim
      from run
      join devices d on d.user_id = run.user_id
      where (run.notification_id, d.address_digest) not in (select notification_id, address_digest from given_up)
      -- runs of the same notifications lock their rows in one order
      order by run.notification_id, d.id
      on conflict (notification_id, address_digest) do update set
        device_id = excluded.device_id, platform = excluded.platform, status = 'SENDING', reason = null,
        claim = excluded.claim, attempts = delivery.attempts + (delivery.status <> 'SENDING')::integer, started_at = now(),
        ended_at = null
      where delivery.status in ('LATER', 'GONE') and delivery.claim <> excluded.claim
         or delivery.status = 'SENDING' and delivery.claim = excluded.claim
      returning notification_id, address_digest, device_id
    ), known as (
      select notification_id, device_id, status, reason, false as claimed from given_up
      union all
      select k.notification_id, k.device_id, k.status, k.reason, false
      from run
      join notification_deliveries k on k.notification_id = run.notification_id
      where (k.notification_id, k.address_digest) not in (select notification_id, address_digest from given_up)
        and (k.notification_id, k.address_digest) not in (select notification_id, address_digest from claimed)
      union all
      select notification_id, device_id, 'SENDING', null, true from claimed
    )
    select
      known.notification_id, known.device_id, known.status, known.reason, d.address, d.p256dh, d.auth, d.locale, d.unanswered
    from known
    left join devices d on d.id = known.device_id and known.claimed`;
  return claims.map(({ notificationId }) => claimedOf(rows.filter((row) => row.notificationId === notificationId)));
}

const claimedOf = (rows: readonly ClaimRow[]): Claimed => ({
  claimed: rows.flatMap(({ deviceId: id, address, p256dh, auth, locale, unanswered }) =>
    id === null || address === null || locale === null || unanswered === null
      ? []
      : [{ id, address, p256dh, auth, locale, unanswered }],
  ),
  others: rows.flatMap(({ address, status, reason }) =>
    address !== null || status === null ? [] : [{ status, reason }],
  ),
});

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

/** What a run has done for a notification. */
export interface RunResult {
  readonly notificationId: string;
  /** At least one. */
  readonly results: readonly DeliveryResult[];
  /** What becomes of the notification, unless it has other open deliveries; null: it stays open. */
  readonly settlement: Settlement | null;
  /** The notification's job, to be completed when it is settled. */
  readonly job: JobRun | null;
}

/** What has become of a notification and its job. */
export interface Settled {
  readonly settled: boolean;
  readonly completed: boolean;
}

/**
 * Stores the results of claimed deliveries, deletes the devices that are GONE, and settles the notifications that have a settlement
 * and no other open delivery, with their jobs. One statement, because it runs for every push. A job that another transaction has
 * locked is not completed.
 */
export async function updateDeliveries(db: Db, runs: readonly RunResult[]): Promise<Settled[]> {
  const results = runs.flatMap(({ notificationId, results }) => results.map((each) => ({ notificationId, ...each })));
  const settlements = runs.flatMap(({ notificationId, settlement, job }) =>
    settlement ? [{ notificationId, ...settlement, job }] : [],
  );
  const rows = await db<{ id: string; completed: boolean }[]>`
    with result as materialized (
      select *
      from unnest(
        ${results.map(({ notificationId }) => notificationId)}::uuid[],
        ${results.map(({ deviceId }) => deviceId)}::uuid[],
        ${results.map(({ status }) => status)}::text[]::delivery_status[],
        ${results.map(({ reason }) => reason)}::text[],
        ${results.map(({ called }) => called)}::boolean[]
      ) as result (notification_id, device_id, status, reason, called)
    ), updated as (
      update notification_deliveries delivery
      set status = result.status, reason = result.reason, ended_at = now(),
          attempts = delivery.attempts - (not result.called)::integer
      from result
      where delivery.notification_id = result.notification_id and delivery.device_id = result.device_id
    ), deleted as (
      delete from devices where id in (select device_id from result where status = 'GONE')
    ), settled as (
      update notifications n
      set status = settlement.status, reason = settlement.reason, settled_at = now()
      from unnest(
        ${settlements.map(({ notificationId }) => notificationId)}::uuid[],
        ${settlements.map(({ status }) => status)}::text[]::notification_status[],
        ${settlements.map(({ reason }) => reason)}::text[],
        ${settlements.map(({ job }) => job?.id ?? null)}::bigint[],
        ${settlements.map(({ job }) => job?.generation ?? null)}::integer[]
      ) as settlement (notification_id, status, reason, job_id, generation)
      where n.id = settlement.notification_id and n.status in ('QUEUED', 'DEFERRED', 'FAILED')
        and not exists (
          select from notification_deliveries other
          where other.notification_id = n.id and other.status in ('SENDING', 'LATER')
            and (other.notification_id, other.device_id) not in (select notification_id, device_id from result)
        )
      returning n.id, settlement.job_id, settlement.generation
    ), completed as materialized (
      select complete_jobs(array_agg(job_id), array_agg(generation)) as job_id from settled
    )
    select s.id, exists (select from completed c where c.job_id = s.job_id) as completed from settled s`;
  const found = new Map(rows.map(({ id, completed }) => [id, completed]));
  return runs.map(({ notificationId }) => ({
    settled: found.has(notificationId),
    completed: found.get(notificationId) ?? false,
  }));
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
