import type { Contract, Payload } from "../queues/contract.js";
import { jobsDue, type Db } from "./db.js";
import { countRows, firstRow, onlyRow, onlyValue } from "./rows.js";
import { onLedSignal } from "./signals.js";

/** Options of a staged job. */
export interface StageOptions {
  /** The id of the causing request, for log lines, with its trace (`withTrace`). */
  requestId?: string | undefined;
  /** The job waits in its row until this time. */
  runAt?: Date;
  /** Finds the job among the open jobs of its queue. */
  key?: string;
  /** Of those that wait in the broker, jobs of a lower number run first; 0 by default. */
  priority?: number;
}

/**
 * Stages a job with the change that causes it: `db` is that change's transaction. The relays wake after its commit. Returns the
 * job's id.
 */
export async function stageJob<P extends Payload>(
  db: Db,
  contract: Contract<P>,
  payload: P,
  { requestId, runAt, key, priority = 0 }: StageOptions = {},
): Promise<string> {
  const [row] = await db<{ id: string | null }[]>`
    select stage_job(
      ${contract.queue}::text, ${db.json(payload)}, ${requestId ?? null}::text,
      coalesce(${runAt ?? null}::timestamptz, now()), ${key ?? null}::text, ${priority}::integer
    )::text as id`;
  if (!row?.id) throw new Error("a job was not staged");
  return row.id;
}

/** One of many jobs that are staged together. */
export interface StagedJob<P extends Payload> extends Pick<StageOptions, "requestId" | "runAt"> {
  payload: P;
}

/** Stages any number of jobs of one queue, in one statement. */
export async function stageJobs<P extends Payload>(
  db: Db,
  contract: Contract<P>,
  jobs: readonly StagedJob<P>[],
): Promise<void> {
  if (jobs.length === 0) return;
  const payloads = jobs.map(({ payload }) => payload);
  await db`
    select from stage_jobs(
      ${contract.queue}::text, ${db.json(payloads)}, ${jobs.map(({ requestId }) => requestId ?? null)}::text[],
      ${jobs.map(({ runAt }) => runAt ?? null)}::timestamptz[]
    )`;
}

/**
 * Calls `listener` when jobs are due, in one process of all, and whenever such a signal may have been missed. Returns the function
 * that ends it.
 */
export const onJobsDue = (listener: () => void): (() => void) => onLedSignal(jobsDue, listener);

/** A claimed job, to be handed to the broker. */
export interface DueJob {
  id: string;
  queue: string;
  payload: Payload;
  generation: number;
  priority: number;
  /** How often it was handed over, this time included. */
  sends: number;
  /** Whether its queue is paused: then it is not handed over. */
  held: boolean;
  traceparent: string | null;
}

/** A job under one generation, as the broker knows it, however often it was handed over. */
export interface JobRun {
  readonly id: string;
  readonly generation: number;
}

const idsOf = (runs: readonly { readonly id: string }[]) => runs.map(({ id }) => id);
const generationsOf = (runs: readonly JobRun[]) => runs.map(({ generation }) => generation);

/** Counts the open jobs of a queue that are due, up to `max`; `at` is the time of the count. */
export const countBacklog = (db: Db, { queue }: Contract, max: number) =>
  onlyRow(db<{ jobs: number; at: Date }[]>`
    select count(*) as jobs, now() as at
    from (
      select
      from staged_jobs
      -- a due row is sent (again) within 14 minutes, so a row with a later next_send_at waits for its run_at
      where done_at is null and dead_at is null and next_send_at < now() + interval '15 minutes' and run_at <= now()
        and queue = ${queue}
      -- in the order of the index on open rows, so that Postgres never reads the whole table with its done rows
      order by next_send_at
      limit ${max}
    ) as due`);

/**
 * Claims up to `limit` due rows of these queues. Each is due again after 10 s, then 30 s, 90 s, … up to 14 min, as long as it is
 * neither done nor dead; handing it over again has no effect while the broker has it. Rows of paused queues are claimed too, and come
 * back as rarely: left due, they would be in the way of all others at every claim.
 */
export const claimDueJobs = (db: Db, queues: readonly string[], limit: number) =>
  db<DueJob[]>`
    with due as materialized (
      select id
      from staged_jobs
      where done_at is null and dead_at is null and next_send_at <= now() and queue = any(${[...queues]}::text[])
      order by next_send_at
      limit ${limit}
      for update skip locked
    ), claimed as (
      update staged_jobs job
      set sends = job.sends + 1,
          next_send_at = now() + interval '10 seconds' * power(3, least(job.sends, 4))
      from due
      where job.id = due.id
      returning job.id, job.queue, job.payload, job.generation, job.priority, job.sends, job.traceparent
    )
    select
      id::text, queue, payload, generation, priority, sends, traceparent,
      coalesce(
        queue = any (array(select setting.queue from queue_settings setting where setting.paused_at is not null)), false
      ) as held
    from claimed
    order by claimed.id`;

/**
 * Makes claimed rows due again after a failed hand-over, even if the broker has accepted some of them; not those that have run
 * meanwhile and snoozed.
 */
export const releaseJobs = (db: Db, jobs: readonly JobRun[]) =>
  db`
    update staged_jobs job
    set sends = greatest(job.sends - 1, 0), next_send_at = now()
    from unnest(${idsOf(jobs)}::bigint[], ${generationsOf(jobs)}::integer[]) as claimed (id, generation)
    where job.id = claimed.id and job.generation = claimed.generation and job.done_at is null and job.dead_at is null`;

/** Rows of one statement: all of a large backlog would take longer than a statement may. */
const MOST_RESENT = 5_000;

/** Makes every open row of these queues due that does not wait for its `run_at`, as the broker may have lost it; returns their number. */
export async function resendJobs(db: Db, queues: readonly string[]): Promise<number> {
  const sent = await db<{ id: string }[]>`
    select id::text
    from staged_jobs
    where done_at is null and dead_at is null and sends > 0 and run_at <= now() and queue = any(${[...queues]}::text[])
    order by next_send_at`;
  let count = 0;
  for (let from = 0; from < sent.length; from += MOST_RESENT) {
    count += await countRows(db`
      update staged_jobs
      set sends = 0, next_send_at = now()
      where id = any(${idsOf(sent.slice(from, from + MOST_RESENT))}::bigint[])
        and done_at is null and dead_at is null and sends > 0 and run_at <= now()`);
  }
  return count;
}

/** The jobs that are due again at once when a queue is resumed. */
const MOST_RELEASED = 50_000;

/**
 * Makes the jobs of a queue due that were held back while it was paused, up to 50,000, and wakes the relays; returns their number.
 * The others become due by themselves, within 14 minutes.
 */
export const releaseHeldJobs = (db: Db, queue: string) =>
  onlyValue(db<{ count: number }[]>`
    select coalesce(release_held_jobs(${queue}::text, ${MOST_RELEASED}::integer)::integer, 0) as count`);

/** What the worker needs of a job's row. */
export interface StartedJob {
  payload: Payload;
  requestId: string | null;
  /** The span that staged it. */
  traceparent: string | null;
  /** Attempts so far, this one included. */
  attempts: number;
  /** Whether it was dead, and an operator runs it again from the dashboard. */
  wasDead: boolean;
}

/**
 * Counts an attempt of each job; undefined for one that is done, deleted, or superseded by a later generation. For a job that another
 * transaction has locked, as its lost run may have, it is a promise, whose statement `waiting` runs: the others do not wait for it.
 * `runs` has one run of a job.
 */
export async function startJobs(
  db: Db,
  runs: readonly JobRun[],
  waiting: Db,
): Promise<(StartedJob | undefined | Promise<StartedJob | undefined>)[]> {
  const rows = await db<(StartedJob & { id: string })[]>`
    with run as materialized (
      select job.id
      from unnest(${idsOf(runs)}::bigint[], ${generationsOf(runs)}::integer[]) as run (id, generation)
      join staged_jobs job on job.id = run.id and job.generation = run.generation and job.done_at is null
      for no key update of job skip locked
    ), started as (
      update staged_jobs job
      set attempts = attempts + 1
      from run
      where job.id = run.id
      returning job.id, payload, request_id, traceparent, attempts, dead_at
    )
    select id::text, payload, request_id, traceparent, attempts, dead_at is not null as was_dead from started`;
  const started = new Map(rows.map((row) => [row.id, row]));
  return runs.map((run) => started.get(run.id) ?? startJob(waiting, run));
}

async function startJob(db: Db, { id, generation }: JobRun): Promise<StartedJob | undefined> {
  return firstRow(db<StartedJob[]>`
    with started as (
      update staged_jobs
      set attempts = attempts + 1
      where id = ${id}::bigint and generation = ${generation} and done_at is null
      returning payload, request_id, traceparent, attempts, dead_at
    )
    select payload, request_id, traceparent, attempts, dead_at is not null as was_dead from started`);
}

/**
 * Marks jobs done; false for one that was done, or is superseded by a later generation. For one that another transaction has locked
 * it is a promise, whose statement `waiting` runs: the others do not wait for it. `runs` has one run of a job.
 */
export async function completeJobs(
  db: Db,
  runs: readonly JobRun[],
  waiting: Db,
): Promise<(boolean | Promise<boolean>)[]> {
  const rows = await db<{ id: string | null }[]>`
    select complete_jobs(${idsOf(runs)}::bigint[], ${generationsOf(runs)}::integer[])::text as id`;
  const completed = new Set(rows.map(({ id }) => id));
  return runs.map((run) => completed.has(run.id) || completeJob(waiting, run));
}

/** Marks a job done; false when it was done, or is superseded by a later generation. */
export async function completeJob(db: Db, { id, generation }: JobRun): Promise<boolean> {
  const [row] = await db<{ completed: boolean | null }[]>`
    select complete_job(${id}::bigint, ${generation}::integer)::boolean as completed`;
  return row?.completed === true;
}

/** Records why an attempt failed; with `dead` the job is dead, and kept for an operator. */
export const failJob = (db: Db, id: string, generation: number, error: string, dead: boolean) =>
  db`
    update staged_jobs
    set last_error = ${error}, dead_at = case when ${dead} then coalesce(dead_at, now()) else dead_at end
    where id = ${id}::bigint and generation = ${generation} and done_at is null`;

/**
 * Snoozes a job until `until`, under a new generation; its present attempt does not count unless it is `spent`. `later` is added to
 * its priority.
 */
export const snoozeJob = (
  db: Db,
  id: string,
  generation: number,
  { until, later, spent }: { until: Date; later: number; spent: boolean },
) =>
  db`
    update staged_jobs
    set run_at = ${until}, next_send_at = ${until}, generation = generation + 1, sends = 0,
        priority = priority + ${later}::integer, attempts = greatest(attempts - (not ${spent}::boolean)::integer, 0), dead_at = null
    where id = ${id}::bigint and generation = ${generation} and done_at is null`;

/** Gives a new generation to jobs that the broker has finished although their rows are open; returns their number. */
export const renewJobs = (db: Db, jobs: readonly JobRun[]) =>
  countRows(db`
    update staged_jobs job
    set generation = job.generation + 1, sends = 0, next_send_at = now()
    from unnest(${idsOf(jobs)}::bigint[], ${generationsOf(jobs)}::integer[]) as stuck (id, generation)
    where job.id = stuck.id and job.generation = stuck.generation and job.done_at is null and job.dead_at is null`);

/** Finds how a job stands; undefined when there is none, or none any more. */
export const findJob = (db: Db, id: string) =>
  firstRow(db<{ attempts: number; runAt: Date; doneAt: Date | null }[]>`
    select attempts, run_at, done_at from staged_jobs where id = ${id}::bigint`);

/** Deletes up to `limit` rows that were done a day ago or dead for 30 days; returns their number. */
export const deleteOldJobs = (db: Db, limit: number) =>
  countRows(db`
    delete from staged_jobs
    where id = any (array(
      (select id from staged_jobs where done_at < now() - interval '1 day' limit ${limit})
      union all
      (select id from staged_jobs where dead_at < now() - interval '30 days' limit ${limit})
    ))`);

/** Reads the age in seconds of the oldest due row that was never handed over, from a partial index; 0 when there is none. */
export const findOutboxLag = async (db: Db): Promise<number> =>
  (
    await firstRow(db<{ seconds: number }[]>`
      select coalesce(extract(epoch from now() - next_send_at), 0)::double precision as seconds
      from staged_jobs
      where done_at is null and dead_at is null and next_send_at <= now() and sends = 0
      order by next_send_at
      limit 1`)
  )?.seconds ?? 0;

/** Counts the dead jobs of each queue that has any, from a partial index. They wait for an operator. */
export const countDeadJobs = (db: Db) =>
  db<{ queue: string; jobs: number }[]>`
    select queue, count(*) as jobs
    from staged_jobs
    where dead_at is not null
    group by queue`;
