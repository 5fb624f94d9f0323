import type { Enum } from "../../lib/domain/enums.js";
import type { Payload } from "../../queues/contract.js";
import type { Db } from "../db.js";
import { onlyRow } from "../rows.js";

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
