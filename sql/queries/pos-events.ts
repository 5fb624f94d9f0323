import type { Enum } from "../../lib/domain/enums.js";
import type { PosChange } from "../../lib/pos/adapter.js";
import type { Db } from "../db.js";
import { countRows, firstRow, hasRows, onlyValue } from "../rows.js";

export interface ReceivedEvent {
  provider: string;
  partnerId: string;
  account: string;
  eventId: string;
  change: PosChange;
  requestId: string;
}

/** Whether to wait for inboxes that other transactions have locked, or to leave them out. */
export type Locked = "WAIT" | "SKIP";

/**
 * Inserts the events that are new and schedules the jobs of their inboxes, as one statement; returns the number of new events of
 * each partner. With SKIP it never waits: partners are missing whose inbox is locked, or that have none yet.
 */
export const receivePosEvents = (db: Db, events: readonly ReceivedEvent[], locked: Locked) =>
  db<{ partnerId: string; added: number }[]>`
    select coalesce(inbox::text, '') as partner_id, coalesce(added, 0) as added
    from receive_pos_events(
      ${locked === "WAIT"}::boolean,
      ${events.map(({ provider }) => provider)}::text[],
      ${events.map(({ partnerId }) => partnerId)}::uuid[],
      ${events.map(({ account }) => account)}::text[],
      ${events.map(({ eventId }) => eventId)}::text[],
      ${db.json(events.map(({ change }) => change))},
      ${events.map(({ requestId }) => requestId)}::text[]
    )`;

export type PosEventStatus = Enum<"posEventStatus">;

/** A stored POS event, as its worker needs it. */
export interface PosEventRow {
  id: number;
  partnerId: string;
  provider: string;
  account: string;
  eventId: string;
  /** See lib/pos/event.ts. */
  change: unknown;
  /** Of its webhook, with its trace (`withTrace`). */
  requestId: string | null;
  status: PosEventStatus;
  /** Failures so far. */
  attempts: number;
  /** When it is due, to the microsecond. It changes with every failure and replay, so it identifies this attempt. */
  nextAttemptAt: string;
  /** 0 when it is due now. */
  dueInMs: number;
}

/** Detaches the running job from a partner's inbox: an event that comes in from now on stages another one. */
export const clearInboxJob = (db: Db, partnerId: string) =>
  db`update pos_inboxes set job_id = null where partner_id = ${partnerId}::uuid and job_id is not null`;

/** Locks a partner's events until `tx` ends: one transaction at a time applies them. False when another one has the lock. */
export const tryLockPosEvents = (tx: Db, partnerId: string) =>
  hasRows(tx`select where pg_try_advisory_xact_lock(hashtextextended('pos events ' || ${partnerId}::text, 0))`);

/** Finds the first queued event of a partner's inbox, and how long ago it came in; null for one that an operator replays. */
export const findNextPosEvent = (db: Db, partnerId: string) =>
  firstRow(db<(PosEventRow & { ageSeconds: number | null })[]>`
    select id, partner_id, provider, account, event_id, change, request_id || coalesce(' ' || traceparent, '') as request_id,
           status, attempts, coalesce(next_attempt_at::text, '') as next_attempt_at,
           case when attempts > 0 or next_attempt_at = received_at
             then extract(epoch from clock_timestamp() - received_at)::double precision end as age_seconds,
           coalesce(greatest(extract(epoch from next_attempt_at - clock_timestamp()) * 1000, 0)::integer, 0) as due_in_ms
    from pos_events
    where partner_id = ${partnerId}::uuid and status = 'QUEUED'
    order by id
    limit 1`);

/** Finds an event. */
export const findPosEvent = (db: Db, id: number) =>
  firstRow(db<PosEventRow[]>`
    select id, partner_id, provider, account, event_id, change, request_id || coalesce(' ' || traceparent, '') as request_id,
           status, attempts, coalesce(next_attempt_at::text, '') as next_attempt_at,
           coalesce(greatest(extract(epoch from next_attempt_at - clock_timestamp()) * 1000, 0)::integer, 0) as due_in_ms
    from pos_events
    where id = ${id}::bigint`);

/** Marks an event processed, and completes the job that it got when it was parked; false when it was processed or dismissed before. */
export const updatePosEventProcessed = (tx: Db, id: number, remark: string | null) =>
  hasRows(tx`
    with processed as (
      update pos_events set status = 'PROCESSED', settled_at = now(), last_error = ${remark}
      where id = ${id}::bigint and status <> 'PROCESSED'
      returning complete_job(job_id)
    )
    select from processed`);

/** Records why an event failed, and makes it due again in `ms` milliseconds; does nothing when it was settled or replayed since. */
export const updatePosEventFailed = (tx: Db, { id, nextAttemptAt }: PosEventRow, error: string, ms: number) =>
  tx`
    update pos_events
    set attempts = attempts + 1, last_error = ${error}, next_attempt_at = now() + make_interval(secs => ${ms}::float8 / 1000)
    where id = ${id}::bigint and status = 'QUEUED' and next_attempt_at = ${nextAttemptAt}::text::timestamptz`;

/**
 * Parks an event, with a job that tries it once more in `ms` milliseconds: the event's own job, replayed if it is dead, else a
 * new one. Does nothing when the event was settled or replayed since. `tx` has `tryLockPosEvents`.
 */
export const parkPosEvent = (tx: Db, { id, nextAttemptAt, requestId }: PosEventRow, error: string, ms: number) =>
  tx`
    update pos_events
    set status = 'PARKED', settled_at = now(), attempts = attempts + 1, last_error = ${error},
        job_id = case
          when replay_job(job_id, due.at) then job_id
          when exists (select from open_jobs j where j.id = job_id) then job_id
          else stage_job('pos-events', jsonb_build_object('eventId', id), ${requestId}::text, due.at)
        end
    from (select now() + make_interval(secs => ${ms}::float8 / 1000) as at) as due
    where id = ${id}::bigint and status = 'QUEUED' and next_attempt_at = ${nextAttemptAt}::text::timestamptz`;

/** Records another failure of a parked event. `tx` has `tryLockPosEvents`. */
export const updatePosEventStillParked = (tx: Db, id: number, error: string) =>
  tx`
    update pos_events set settled_at = now(), attempts = attempts + 1, last_error = ${error}
    where id = ${id}::bigint and status = 'PARKED'`;

/** Ensures that a job drains a partner's inbox in `ms` milliseconds or before. */
export const scheduleInboxRun = (tx: Db, partnerId: string, ms: number, requestId: string | null) =>
  tx`
    select from schedule_inbox_run(
      ${partnerId}::uuid, lock_pos_inbox(${partnerId}::uuid), now() + make_interval(secs => ${ms}::float8 / 1000),
      ${requestId}::text
    )`;

/** Schedules jobs for up to `limit` inboxes with a due event and no open job; returns their number. */
export const rescheduleStalledInboxes = (db: Db, limit: number) =>
  onlyValue(db<{ count: number }[]>`
    select coalesce(reschedule_stalled_inboxes(${limit}::integer)::integer, 0) as count`);

/** Queues a parked event again, with an audit record of the admin, and schedules its inbox; false when it is not parked. */
export async function replayPosEvent(tx: Db, id: number, actorId: string, requestId: string): Promise<boolean> {
  const [replayed] = await tx<{ partnerId: string }[]>`
    with replayed as (
      update pos_events
      set status = 'QUEUED', settled_at = null, attempts = 0, next_attempt_at = now()
      where id = ${id}::bigint and status = 'PARKED'
      returning id, partner_id
    ), audited as (
      insert into audit_events (actor_id, action, subject_id, details)
      select ${actorId}::uuid, 'POS_EVENT_REPLAY', partner_id, jsonb_build_object('event', id) from replayed
    )
    select partner_id from replayed`;
  if (!replayed) return false;
  await scheduleInboxRun(tx, replayed.partnerId, 0, requestId);
  return true;
}

/** Which parked events are settled at once; null leaves a condition out. */
export interface ParkedChoice {
  ids: readonly number[] | null;
  partnerId: string | null;
}

/**
 * Replays or dismisses up to `limit` parked events, the oldest first; returns their number. A replayed event is queued again, with all
 * its attempts; a dismissed one is processed without effect, with the remark.
 */
export const settleParkedEvents = (
  tx: Db,
  kind: "REPLAY" | "DISMISS",
  { ids, partnerId }: ParkedChoice,
  { remark, requestId, limit }: { remark: string; requestId: string | null; limit: number },
) =>
  onlyValue(tx<{ count: number }[]>`
    select coalesce(
      settle_parked_events(
        ${kind}::text::bulk_action_kind, ${ids === null ? null : [...ids]}::bigint[], ${partnerId}::uuid, ${remark}::text,
        ${requestId}::text, ${limit}::integer
      )::integer,
      0
    ) as count`);

/** An event as admins see it, without personal data of customers. */
export interface ListedPosEvent extends Pick<
  PosEventRow,
  "id" | "partnerId" | "provider" | "account" | "eventId" | "status" | "attempts"
> {
  kind: string | null;
  lastError: string | null;
  receivedAt: Date;
  settledAt: Date | null;
}

/** Lists the events in one of `statuses`, newest first, after the one with id `after`. */
export const listPosEvents = (db: Db, statuses: readonly PosEventStatus[], after: number | null, limit: number) =>
  db<ListedPosEvent[]>`
    select found.id, found.partner_id, found.provider, found.account, found.event_id,
           found.change ->> 'kind' as kind, found.status, found.attempts, found.last_error,
           found.received_at, found.settled_at
    from unnest(${[...statuses]}::pos_event_status[]) as wanted (status)
    cross join lateral (
      select e.id, e.partner_id, e.provider, e.account, e.event_id, e.change, e.status, e.attempts, e.last_error,
             e.received_at, e.settled_at
      from pos_events e
      where e.status = wanted.status and (${after}::bigint is null or e.id < ${after}::bigint)
      order by e.id desc
      limit ${limit}
    ) as found
    order by found.id desc
    limit ${limit}`;

/** Which parked events are listed; null leaves a condition out. */
export interface ParkedFilter {
  partnerId: string | null;
  /** A part of the last error, in any case. */
  error: string | null;
}

/** Lists the parked events that match, newest first, after the one with id `after`. */
export const listParkedEvents = (db: Db, { partnerId, error }: ParkedFilter, after: number | null, limit: number) =>
  db<ListedPosEvent[]>`
    select id, partner_id, provider, account, event_id, change ->> 'kind' as kind, status, attempts, last_error, received_at, settled_at
    from pos_events event
    where status = 'PARKED' and (${after}::bigint is null or id < ${after}::bigint)
      and is_event_meant(event, ${partnerId}::uuid, ${error}::text, null, null, null)
    order by id desc
    limit ${limit}`;

/** Whether an event exists. */
export const hasPosEvent = (db: Db, id: number) => hasRows(db`select from pos_events where id = ${id}::bigint`);

/** Deletes up to `limit` settled events that came in 30 days ago, with their personal data; returns their number. */
export const deleteOldPosEvents = (db: Db, limit: number) =>
  countRows(db`
    delete from pos_events
    where id = any (array(
      select id from pos_events
      where settled_at is not null and received_at < now() - interval '30 days'
      order by received_at
      limit ${limit}
      for update skip locked
    ))`);
