import type { Contract, Payload } from "../queues/contract.js";
import { jobsDue, type Db } from "./db.js";
import { onSignal } from "./signals.js";

/** What travels with a job besides its payload. */
export interface StageOptions {
  /** The request that caused the job, for its log lines. */
  requestId?: string | undefined;
  /** The job waits in its row until then. */
  runAt?: Date;
  /** Finds the job among those of its queue that are open. */
  key?: string;
}

/**
 * Stages a job with the change that causes it: `db` is that change's transaction. The relays wake when it is committed.
 * Answers the job's id.
 */
export async function stageJob<P extends Payload>(
  db: Db,
  contract: Contract<P>,
  payload: P,
  { requestId, runAt, key }: StageOptions = {},
): Promise<string> {
  const [row] = await db<{ id: string | null }[]>`
    select stage_job(
      ${contract.queue}::text, ${db.json(payload)}, ${requestId ?? null}::text,
      coalesce(${runAt ?? null}::timestamptz, now()), ${key ?? null}::text
    )::text as id`;
  if (!row?.id) throw new Error("a job was not staged");
  return row.id;
}

/** Stages many jobs of one queue in one statement, however many they are. */
export async function stageJobs<P extends Payload>(
  db: Db,
  contract: Contract<P>,
  payloads: readonly P[],
  { requestId }: Pick<StageOptions, "requestId"> = {},
): Promise<void> {
  if (payloads.length === 0) return;
  await db`select from stage_jobs(${contract.queue}::text, ${db.json(payloads)}, ${requestId ?? null}::text)`;
}

/** Calls `listener` when jobs are due, and whenever that may have been missed. Answers what ends it. */
export const onJobsDue = (listener: () => void): (() => void) => onSignal(jobsDue, listener);

/** A row on its way to the broker. */
export interface DueJob {
  id: string;
  queue: string;
  payload: Payload;
  generation: number;
  /** How often it has been handed over, this time included. */
  sends: number;
}

/** How many jobs of a queue are due and not done, counted up to `most`, and when that was. */
export async function findBacklog(db: Db, { queue }: Contract, most: number): Promise<{ jobs: number; at: Date }> {
  // a row that is due comes up to be sent (again) within a quarter of an hour; those further off wait for their time
  const [backlog] = await db<{ jobs: number; at: Date }[]>`
    select count(*) as jobs, now() as at
    from (
      select
      from staged_jobs
      where done_at is null and dead_at is null and next_send_at < now() + interval '15 minutes' and run_at <= now()
        and queue = ${queue}
      -- in the order of the index of what is open: the whole table, with all that is done, is never read for it
      order by next_send_at
      limit ${most}
    ) as due`;
  if (!backlog) throw new Error("a backlog was not counted");
  return backlog;
}

/**
 * Claims up to `limit` rows that are due for these queues. Each comes due again after 10 s, then 30 s, 90 s, … up to
 * 14 min, for as long as it is neither done nor dead; handing it over again means nothing while the broker has it.
 */
export async function claimDueJobs(db: Db, queues: readonly string[], limit: number): Promise<DueJob[]> {
  return db<DueJob[]>`
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
      returning job.id, job.queue, job.payload, job.generation, job.sends
    )
    select id::text, queue, payload, generation, sends from claimed order by claimed.id`;
}

/** Makes claimed rows due again whose hand-over failed; whether the broker took some of them after all does not matter. */
export async function releaseJobs(db: Db, ids: readonly string[]): Promise<void> {
  await db`
    update staged_jobs
    set sends = greatest(sends - 1, 0), next_send_at = now()
    where id = any(${[...ids]}::bigint[]) and done_at is null and dead_at is null`;
}

/** Makes every unfinished row due that is not waiting for its `run_at`, because the broker has lost what it had; answers how many. */
export async function resendJobs(db: Db): Promise<number> {
  const { count } = await db`
    update staged_jobs
    set sends = 0, next_send_at = now()
    where done_at is null and dead_at is null and sends > 0 and run_at <= now()`;
  return count;
}

/** A job's row as its handler's adapter needs it. */
export interface StartedJob {
  payload: Payload;
  requestId: string | null;
  /** Starts so far, this one included. */
  tries: number;
  /** It had been given up, and someone runs it again from the dashboard. */
  wasDead: boolean;
}

/** Counts a start; undefined when the job is done, gone, or superseded by a later generation. */
export async function startJob(db: Db, id: string, generation: number): Promise<StartedJob | undefined> {
  const [row] = await db<StartedJob[]>`
    with started as (
      update staged_jobs
      set tries = tries + 1
      where id = ${id}::bigint and generation = ${generation} and done_at is null
      returning payload, request_id, tries, dead_at
    )
    select payload, request_id as "requestId", tries, dead_at is not null as "wasDead" from started`;
  return row;
}

/** Marks a job done; false when it was done already, or is superseded by a later generation. */
export async function completeJob(db: Db, id: string, generation: number): Promise<boolean> {
  const [row] = await db<{ completed: boolean | null }[]>`
    select complete_job(${id}::bigint, ${generation}::integer)::boolean as completed`;
  return row?.completed === true;
}

/** Notes why an attempt failed; with `dead`, the job is given up and stays for an operator. */
export async function failJob(db: Db, id: string, generation: number, error: string, dead: boolean): Promise<void> {
  await db`
    update staged_jobs
    set last_error = ${error}, dead_at = case when ${dead} then coalesce(dead_at, now()) else dead_at end
    where id = ${id}::bigint and generation = ${generation} and done_at is null`;
}

/** Puts a job back until `until`, under a new generation and without the attempt it had started. */
export async function snoozeJob(db: Db, id: string, generation: number, until: Date): Promise<void> {
  await db`
    update staged_jobs
    set run_at = ${until}, next_send_at = ${until}, generation = generation + 1, sends = 0,
        tries = greatest(tries - 1, 0), dead_at = null
    where id = ${id}::bigint and generation = ${generation} and done_at is null`;
}

/** Retries jobs that the broker has finished with although their rows are open; answers how many. */
export async function retryJobs(db: Db, jobs: readonly { id: string; generation: number }[]): Promise<number> {
  const { count } = await db`
    update staged_jobs job
    set generation = job.generation + 1, sends = 0, next_send_at = now()
    from unnest(${jobs.map((job) => job.id)}::bigint[], ${jobs.map((job) => job.generation)}::integer[]) as stuck (id, generation)
    where job.id = stuck.id and job.generation = stuck.generation and job.done_at is null and job.dead_at is null`;
  return count;
}

/** Gives a dead job all its attempts again; false when it is not dead. */
export async function replayJob(db: Db, id: string): Promise<boolean> {
  const [row] = await db<{ replayed: boolean | null }[]>`select replay_job(${id}::bigint)::boolean as replayed`;
  return row?.replayed === true;
}

/** Gives every dead job of a queue all its attempts again; answers how many. */
export async function replayDeadJobs(db: Db, queue: string): Promise<number> {
  const replayed = await db<{ replayed: boolean | null }[]>`
    select replay_job(id)::boolean as replayed from staged_jobs where queue = ${queue} and dead_at is not null and done_at is null`;
  return replayed.filter((job) => job.replayed).length;
}

/** Deletes up to `limit` rows that were done a day ago or dead for 30 days; answers how many. */
export async function deleteOldJobs(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    delete from staged_jobs
    where id in (
      (select id from staged_jobs where done_at < now() - interval '1 day' limit ${limit})
      union all
      (select id from staged_jobs where dead_at < now() - interval '30 days' limit ${limit})
    )`;
  return count;
}

/** The outbox in numbers. */
export interface OutboxStats {
  /** Age of the oldest row that is due and was never handed over, in seconds; 0 when there is none. */
  lagSeconds: number;
  /** Jobs that were given up and wait for an operator. */
  dead: number;
}

/** Reads the outbox's lag and its dead jobs, both from partial indexes. */
export async function findOutboxStats(db: Db): Promise<OutboxStats> {
  const [row] = await db<{ lagSeconds: number | null; dead: number | null }[]>`
    select
      (
        select extract(epoch from now() - next_send_at)::double precision
        from staged_jobs
        where done_at is null and dead_at is null and next_send_at <= now() and sends = 0
        order by next_send_at
        limit 1
      ) as "lagSeconds",
      (select count(*) from staged_jobs where dead_at is not null) as dead`;
  return { lagSeconds: row?.lagSeconds ?? 0, dead: row?.dead ?? 0 };
}
