import type { Enum } from "../lib/domain/enums.js";
import type { Payload } from "../queues/contract.js";
import type { Db } from "./db.js";
import { countRows, firstRow, onlyRow, onlyValue } from "./rows.js";

/** What operators see of jobs, and do to them. */

/** DEAD: given up. DUE: to be run now, or running. WAITING: for its time. DONE: kept for a day. */
export const jobStates = ["DEAD", "DUE", "WAITING", "DONE"] as const;
export type JobState = (typeof jobStates)[number];

/** A job as an operator sees it; its payload has ids and small facts only. */
export interface JobRow {
  id: number;
  queue: string;
  state: JobState;
  payload: Payload;
  requestId: string | null;
  attempts: number;
  lastError: string | null;
  stagedAt: Date;
  runAt: Date;
  doneAt: Date | null;
  deadAt: Date | null;
}

/** Which jobs are meant; null leaves a condition out. */
export interface JobFilter {
  queue: string | null;
  /** A part of the last error, in any case. */
  error: string | null;
  /** Those staged at this time or later, and those before. */
  stagedFrom: Date | null;
  stagedBefore: Date | null;
  minAttempts: number | null;
  /** What the payload has, among other fields. */
  argument: Payload | null;
}

/** Every job. */
export const anyJob: JobFilter = {
  queue: null,
  error: null,
  stagedFrom: null,
  stagedBefore: null,
  minAttempts: null,
  argument: null,
};

const numbersOf = (ids: readonly number[]) => [...ids];

/** Lists dead jobs, newest first, below the id `after`. */
export const listDeadJobs = (
  db: Db,
  { queue, error, stagedFrom, stagedBefore, minAttempts }: Omit<JobFilter, "argument">,
  after: number | null,
  limit: number,
) =>
  db<(JobRow & { state: "DEAD"; deadAt: Date })[]>`
    select
      id, queue, 'DEAD' as state, payload, request_id, attempts, last_error, created_at as staged_at, run_at, done_at, dead_at
    from staged_jobs job
    where dead_at is not null and done_at is null
      and is_job_meant(job, ${queue}::text, ${error}::text, ${stagedFrom}::timestamptz, ${stagedBefore}::timestamptz, ${minAttempts}::integer, null)
      and (${after}::bigint is null or id < ${after}::bigint)
    order by id desc
    limit ${limit}`;

/** Lists open jobs, newest first, below the id `after`: those that are due, or those that wait for their time. */
export const listOpenJobs = (
  db: Db,
  state: "DUE" | "WAITING",
  { queue, error, stagedFrom, stagedBefore, minAttempts }: Omit<JobFilter, "argument">,
  after: number | null,
  limit: number,
) =>
  db<(JobRow & { state: "DUE" | "WAITING" })[]>`
    select
      id, queue, case when run_at <= now() then 'DUE' else 'WAITING' end as state, payload, request_id, attempts, last_error,
      created_at as staged_at, run_at, done_at, dead_at
    from staged_jobs job
    where done_at is null and dead_at is null and (run_at <= now()) = (${state}::text = 'DUE')
      and is_job_meant(job, ${queue}::text, ${error}::text, ${stagedFrom}::timestamptz, ${stagedBefore}::timestamptz, ${minAttempts}::integer, null)
      and (${after}::bigint is null or id < ${after}::bigint)
    order by id desc
    limit ${limit}`;

/**
 * Lists the jobs in one state with an argument, newest first, below the id `after`. Dead ones are found by an index. Open ones come
 * and go too fast for one: the hundred thousand of this state that are due first are looked at.
 */
export const listJobsWith = (
  db: Db,
  state: "DEAD" | "DUE" | "WAITING",
  { argument, queue, error, stagedFrom, stagedBefore, minAttempts }: JobFilter & { argument: Payload },
  after: number | null,
  limit: number,
) =>
  db<(JobRow & { state: "DEAD" | "DUE" | "WAITING" })[]>`
    with dead as materialized (
      select id
      from staged_jobs
      where dead_at is not null and done_at is null and ${state}::text = 'DEAD' and payload @> ${db.json(argument)}::jsonb
    ), open as materialized (
      select id
      from (
        select id, payload, run_at
        from staged_jobs
        where done_at is null and dead_at is null and ${state}::text <> 'DEAD'
          and next_send_at > case when ${state}::text = 'WAITING' then now() else '-infinity' end
        order by next_send_at
        limit 100000
      ) as soonest
      where payload @> ${db.json(argument)}::jsonb and (run_at <= now()) = (${state}::text = 'DUE')
    )
    select
      id, queue, case when dead_at is not null then 'DEAD' when run_at <= now() then 'DUE' else 'WAITING' end as state, payload,
      request_id, attempts, last_error, created_at as staged_at, run_at, done_at, dead_at
    from staged_jobs job
    where id = any (array(select id from dead union all select id from open))
      and is_job_meant(job, ${queue}::text, ${error}::text, ${stagedFrom}::timestamptz, ${stagedBefore}::timestamptz, ${minAttempts}::integer, null)
      and (${after}::bigint is null or id < ${after}::bigint)
    order by id desc
    limit ${limit}`;

/** Finds jobs by their ids, oldest first. */
export const findJobs = (db: Db, ids: readonly number[]) =>
  db<JobRow[]>`
    select
      id, queue,
      case
        when done_at is not null then 'DONE' when dead_at is not null then 'DEAD' when run_at <= now() then 'DUE' else 'WAITING'
      end as state,
      payload, request_id, attempts, last_error, created_at as staged_at, run_at, done_at, dead_at
    from staged_jobs
    where id = any(${numbersOf(ids)}::bigint[])
    order by id`;

/** Lists the ids of the jobs that a request has staged, directly or through other jobs, within ten minutes after `from`. */
export const listJobIdsOfRequest = async (db: Db, requestId: string, from: Date, limit: number): Promise<number[]> =>
  (
    await db<{ id: number }[]>`
      select id
      from staged_jobs
      where id >= (select job_id_at(${from}::timestamptz - interval '1 minute'))
        and id < (select job_id_at(${from}::timestamptz + interval '10 minutes')) and request_id = ${requestId}
      order by id
      limit ${limit}`
  ).map(({ id }) => id);

/** Lists the ids of the jobs that were staged by the changes of an order and by its notifications, by one notification, or when something else was made. */
export const listJobIdsAbout = async (db: Db, subjectId: string, limit: number): Promise<number[]> =>
  (
    await db<{ id: number | null }[]>`
      select distinct job.id::bigint as id from job_ids_about(${subjectId}::uuid) as job (id) order by id limit ${limit}`
  ).flatMap(({ id }) => id ?? []);

/** Counts jobs by queue, of the hundred thousand open ones that are due first and of those that were staged or done in five minutes. */
export const summarizeQueues = (db: Db) =>
  db<
    {
      queue: string | null;
      due: number;
      waiting: number;
      oldestDueSeconds: number;
      stagedPerMinute: number;
      donePerMinute: number;
      dead: number;
    }[]
  >`
    with seen as (
      select queue, 'OPEN' as kind, run_at
      from (
        select queue, run_at from staged_jobs where done_at is null and dead_at is null order by next_send_at limit 100000
      ) as job
      union all
      select queue, 'STAGED', created_at
      from (
        select queue, created_at
        from staged_jobs
        where id >= (select job_id_at(now() - interval '5 minutes'))
        limit 100000
      ) as job
      union all
      select queue, 'DONE', done_at
      from (
        select queue, done_at from staged_jobs where done_at > now() - interval '5 minutes' order by done_at desc limit 100000
      ) as job
      union all
      select queue, 'DEAD', dead_at
      from staged_jobs
      where dead_at is not null and done_at is null
    )
    select
      queue,
      count(*) filter (where kind = 'OPEN' and run_at <= now()) as due,
      count(*) filter (where kind = 'OPEN' and run_at > now()) as waiting,
      coalesce(
        extract(epoch from now() - min(run_at) filter (where kind = 'OPEN' and run_at <= now())), 0
      )::double precision as oldest_due_seconds,
      (count(*) filter (where kind = 'STAGED') / 5.0)::double precision as staged_per_minute,
      (count(*) filter (where kind = 'DONE') / 5.0)::double precision as done_per_minute,
      count(*) filter (where kind = 'DEAD') as dead
    from seen
    group by queue
    order by queue`;

/** Who has due jobs of a queue: a partner, a user or an endpoint of webhooks. */
export interface JobOwner {
  partnerId: string | null;
  userId: string | null;
  endpointId: string | null;
  jobs: number;
  /** When the first of them became due. */
  dueSince: Date;
}

/**
 * Lists who has the most of a queue's due jobs, by the ids in their payloads: of the ten thousand that are due first, among the hundred
 * thousand open ones of all queues. A job about an order is its partner's; a push is its user's too. What a job names is looked up by its
 * key, in scalar subqueries: for a join Postgres might read whole tables.
 */
export const listJobOwners = (db: Db, queue: string, limit: number) =>
  db<JobOwner[]>`
    with due as materialized (
      select payload, run_at
      from (
        select queue, payload, run_at from staged_jobs where done_at is null and dead_at is null order by next_send_at limit 100000
      ) as job
      where queue = ${queue}::text and run_at <= now()
      limit 10000
    ), named as materialized (
      select key, value, run_at
      from due, jsonb_each_text(payload)
      where value ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
    ), owned as materialized (
      select
        case key
          when 'partnerId' then value::uuid
          when 'importId' then (select partner_id from menu_imports where id = value::uuid)
          when 'syncId' then (select partner_id from pos_syncs where id = value::uuid)
          when 'statementId' then (select partner_id from statements where id = value::uuid)
          when 'notificationId' then (
            select coalesce(
              n.partner_id, (select o.partner_id from orders o where o.id = n.order_id), (select b.partner_id from boxes b where b.id = n.box_id)
            )
            from notifications n
            where n.id = value::uuid
          )
          when 'subjectId' then coalesce(
            (select partner_id from orders where id = value::uuid), (select partner_id from boxes where id = value::uuid),
            (select partner_id from reviews where id = value::uuid), (select id from partners where id = value::uuid)
          )
        end as partner_id,
        case key
          when 'fileId' then (select user_id from files where id = value::uuid)
          when 'exportId' then (select user_id from data_exports where id = value::uuid)
          when 'notificationId' then (select user_id from notifications where id = value::uuid)
        end as user_id,
        case key when 'endpointId' then value::uuid end as endpoint_id,
        run_at
      from named
    )
    select partner_id, user_id, endpoint_id, count(*) as jobs, coalesce(min(run_at)::timestamptz, now()) as due_since
    from owned
    group by grouping sets ((partner_id), (user_id), (endpoint_id))
    having num_nonnulls(partner_id, user_id, endpoint_id) = 1
    order by jobs desc, due_since
    limit ${limit}`;

/**
 * Lists the whole minutes that are to be recorded, oldest first: those since the last one that is. After an outage of the workers they
 * may be many; the rows of jobs that are done say for a day what happened in them.
 */
export const listMinutesToRecord = async (db: Db): Promise<Date[]> =>
  (
    await db<{ minute: Date }[]>`
      select minute
      from
        (select max(minute) as latest from queue_minutes where queue = 'upkeep') as recorded,
        generate_series(
          greatest(
            coalesce(latest, date_trunc('minute', now()) - interval '2 minutes') + interval '1 minute',
            date_trunc('minute', now()) - interval '23 hours'
          ),
          date_trunc('minute', now()) - interval '1 minute', interval '1 minute'
        ) as minute
      order by minute`
  ).map(({ minute }) => minute);

/**
 * Records what each queue did in a minute, unless that is recorded: the jobs staged and done and, of the latest minute, how old the
 * oldest due one is now, of the hundred thousand open ones that are due first. `upkeep` has a row in any case.
 */
export const insertQueueMinute = (db: Db, minute: Date) =>
  countRows(db`
    with span as (
      select
        ${minute}::timestamptz as starts, ${minute}::timestamptz + interval '1 minute' as ends,
        ${minute}::timestamptz > now() - interval '2 minutes' as is_latest
    ), seen as (
      select queue, 1 as staged, 0 as done, null::timestamptz as due_at
      from staged_jobs
      where id >= (select job_id_at(starts - interval '20 seconds') from span)
        and created_at >= (select starts from span) and created_at < (select ends from span)
      union all
      select queue, 0, 1, null
      from staged_jobs
      where done_at >= (select starts from span) and done_at < (select ends from span)
      union all
      select queue, 0, 0, run_at
      from (
        select queue, run_at
        from staged_jobs
        where done_at is null and dead_at is null and (select is_latest from span)
        order by next_send_at
        limit 100000
      ) as job
      where run_at <= now()
      union all
      select 'upkeep', 0, 0, null
    )
    insert into queue_minutes (minute, queue, staged, done, oldest_due_seconds)
    select
      (select starts from span), queue, sum(staged), sum(done),
      case when (select is_latest from span) then coalesce(extract(epoch from now() - min(due_at)), 0) end
    from seen
    group by queue
    on conflict do nothing`);

/** Gives a dead job all its attempts again; false when it is not dead. */
export async function replayJob(db: Db, id: string): Promise<boolean> {
  const [row] = await db<{ replayed: boolean | null }[]>`select replay_job(${id}::bigint)::boolean as replayed`;
  return row?.replayed === true;
}

/**
 * Does something to those of these jobs that are in a state for it; returns their number. REPLAY and DISMISS are for dead jobs, RUN,
 * SNOOZE (`until` a time) and CANCEL for open ones; a dismissed or cancelled job is done, without its effect.
 */
export async function settleJobs(
  db: Db,
  kind: Enum<"bulkActionKind">,
  ids: readonly number[],
  until: Date | null,
): Promise<number> {
  const { settled } = await onlyRow(db<{ settled: number | null }[]>`
    select settle_jobs(${kind}::bulk_action_kind, ${numbersOf(ids)}::bigint[], ${until}::timestamptz)::integer as settled`);
  return settled ?? 0;
}

/** Something that an operator does to all jobs, or parked POS events, that match. */
export interface BulkActionRow extends JobFilter {
  id: string;
  kind: Enum<"bulkActionKind">;
  state: Enum<"bulkActionState">;
  /** Whose parked events are meant; null: of any partner. */
  partnerId: string | null;
  /** When snoozed jobs are to run. */
  until: Date | null;
  why: string;
  /** How many jobs or events matched when it was asked for. */
  matched: number;
  /** How many have been changed so far. */
  changed: number;
  createdAt: Date;
  /** Null while earlier ones go on. */
  startedAt: Date | null;
  /** Null while it goes on. */
  settledAt: Date | null;
  /** Null when no operator has stopped it. */
  stoppedWhy: string | null;
}

export interface NewBulkAction extends JobFilter {
  kind: Enum<"bulkActionKind">;
  state: Enum<"bulkActionState">;
  partnerId: string | null;
  until: Date | null;
  why: string;
  /** Null in a shell. */
  actorId: string | null;
}

/** Asks for a bulk action and stages the upkeep that carries it out; returns its id. */
export const insertBulkAction = (
  db: Db,
  {
    kind,
    state,
    queue,
    error,
    stagedFrom,
    stagedBefore,
    minAttempts,
    argument,
    partnerId,
    until,
    why,
    actorId,
  }: NewBulkAction,
) =>
  onlyValue(db<{ id: string }[]>`
    with dead as (
      select count(*) as jobs
      from staged_jobs job
      where dead_at is not null and done_at is null and ${state}::text = 'DEAD'
        and is_job_meant(job, ${queue}::text, ${error}::text, ${stagedFrom}::timestamptz, ${stagedBefore}::timestamptz, ${minAttempts}::integer, ${db.json(argument)}::jsonb)
    ), open as (
      select count(*) as jobs
      from staged_jobs job
      where done_at is null and dead_at is null and ${state}::text in ('DUE', 'WAITING') and (run_at <= now()) = (${state}::text = 'DUE')
        and is_job_meant(job, ${queue}::text, ${error}::text, ${stagedFrom}::timestamptz, ${stagedBefore}::timestamptz, ${minAttempts}::integer, ${db.json(argument)}::jsonb)
    ), parked as (
      select count(*) as events
      from pos_events event
      where status = 'PARKED' and ${state}::text = 'PARKED'
        and is_event_meant(event, ${partnerId}::uuid, ${error}::text, ${stagedFrom}::timestamptz, ${stagedBefore}::timestamptz, ${minAttempts}::integer)
    ), action as (
      insert into bulk_actions (
        kind, state, queue, error, staged_from, staged_before, min_attempts, argument, partner_id, until, why, matched
      )
      select
        ${kind}::bulk_action_kind, ${state}::bulk_action_state, ${queue}::text, ${error}::text, ${stagedFrom}::timestamptz,
        ${stagedBefore}::timestamptz, ${minAttempts}::integer, ${db.json(argument)}::jsonb, ${partnerId}::uuid, ${until}::timestamptz,
        ${why}::text, dead.jobs + open.jobs + parked.events
      from dead, open, parked
      returning
        id, kind, state, queue, error, staged_from, staged_before, min_attempts, argument, partner_id, until, why, matched
    ), audited as (
      insert into audit_events (actor_id, action, subject_id, details)
      select
        ${actorId}::uuid, case when state = 'PARKED' then 'POS_EVENTS_' else 'JOBS_' end || kind, id,
        jsonb_strip_nulls(jsonb_build_object(
          'state', state, 'queue', queue, 'error', error, 'stagedFrom', staged_from, 'stagedBefore', staged_before,
          'minAttempts', min_attempts, 'argument', argument, 'partner', partner_id, 'until', until, 'why', why, 'matched', matched
        ))
      from action
    ), staged as materialized (
      select stage_job('upkeep', jsonb_build_object('task', 'bulk-actions')) from action
    )
    select action.id::text as id from action, staged`);

/** Finds a bulk action; undefined for another id. */
export const findBulkAction = (db: Db, id: string) =>
  firstRow(db<BulkActionRow[]>`
    select
      id, kind, state, queue, error, staged_from, staged_before, min_attempts, argument, partner_id, until, why, matched, changed,
      created_at, started_at, settled_at, stopped_why
    from bulk_actions
    where id = ${id}::uuid`);

/** Lists bulk actions, newest first, after the one with id `after`. */
export const listBulkActions = (db: Db, after: string | null, limit: number) =>
  db<BulkActionRow[]>`
    select
      id, kind, state, queue, error, staged_from, staged_before, min_attempts, argument, partner_id, until, why, matched, changed,
      created_at, started_at, settled_at, stopped_why
    from bulk_actions
    where ${after}::uuid is null or id < ${after}::uuid
    order by id desc
    limit ${limit}`;

/** Works on a bulk action: up to `limit` of its jobs or events. When there are none left it is settled. */
export const continueBulkAction = (db: Db, id: string, limit: number) =>
  db`select from continue_bulk_action(${id}::uuid, ${limit}::integer)`;

/** Ends an open bulk action after the batch that is under way; returns how many jobs it has changed, undefined when it is not open. */
export async function updateBulkActionStopped(db: Db, id: string, why: string): Promise<number | undefined> {
  const stopped = await firstRow(db<{ changed: number }[]>`
    update bulk_actions set settled_at = clock_timestamp(), stopped_why = ${why}
    where id = ${id}::uuid and settled_at is null
    returning changed`);
  return stopped?.changed;
}

/** Finds the oldest open bulk action. */
export const findOpenBulkAction = (db: Db) =>
  firstRow(db<{ id: string; matched: number; changed: number }[]>`
    select id, matched, changed from bulk_actions where settled_at is null order by id limit 1`);
