import type { Enum } from "../../lib/domain/enums.js";
import type { LastCalls } from "../../lib/outbound/vendor-calls.js";
import type { Db } from "../db.js";
import { countRows, onlyRow } from "../rows.js";

/** A process that is alive, or was lately. */
export interface ProcessRow {
  id: string;
  role: Enum<"processRole">;
  version: string;
  startedAt: Date;
  /** Since its last beat. */
  silentSeconds: number;
  /** See sql/beats.ts. */
  facts: unknown;
}

/** Lists the processes that were alive in the last ten minutes. */
export const listProcesses = (db: Db) =>
  db<ProcessRow[]>`
    select
      id, role, version, started_at, coalesce(extract(epoch from now() - beat_at)::double precision, 0) as silent_seconds, facts
    from processes
    where beat_at > now() - interval '10 minutes'
    order by role, started_at, id`;

/** Lists when each third party was last called, by any process. */
export const listLastCalls = (db: Db) =>
  db<LastCalls[]>`select vendor, succeeded_at, failed_at from vendor_calls order by vendor`;

/** The last run of an upkeep task. */
export interface UpkeepRun {
  task: string;
  startedAt: Date;
  ms: number;
  /** Rows that it changed, where it counts them. */
  changed: number | null;
  /** Null when it succeeded. */
  error: string | null;
}

/** Records the last run of an upkeep task. */
export const upsertUpkeepRun = (db: Db, { task, startedAt, ms, changed, error }: UpkeepRun) =>
  db`
    insert into upkeep_runs (task, started_at, ms, changed, error)
    values (${task}, ${startedAt}, ${ms}, ${changed}, ${error})
    on conflict (task) do update
    set started_at = excluded.started_at, ms = excluded.ms, changed = excluded.changed, error = excluded.error`;

/** Lists the last run of each upkeep task that has run. */
export const listUpkeepRuns = (db: Db) =>
  db<UpkeepRun[]>`select task, started_at, ms, changed, error from upkeep_runs order by task`;

/** Reads how full the database is. */
export const findDatabaseState = (db: Db) =>
  onlyRow(db<{ connections: number; maxConnections: number; bytes: number }[]>`
    select
      coalesce(sum(numbackends)::integer, 0) as connections,
      coalesce(current_setting('max_connections')::integer, 0) as max_connections,
      coalesce(pg_database_size(current_database())::bigint, 0) as bytes
    from pg_stat_database`);

/** What a queue did in a minute. */
export interface QueueMinute {
  minute: Date;
  queue: string;
  staged: number;
  done: number;
  /** Of the oldest due job, at the end of the minute; null when the minute was recorded later. */
  oldestDueSeconds: number | null;
}

/**
 * Lists what queues did in the minutes of the last `hours`, oldest first: one queue and `upkeep`, or (null) all. A queue has no row where
 * nothing happened; `upkeep` has one for each minute that was recorded.
 */
export const listQueueMinutes = (db: Db, queue: string | null, hours: number) =>
  db<QueueMinute[]>`
    select minute, queue, staged, done, oldest_due_seconds
    from queue_minutes
    where minute > now() - make_interval(hours => ${hours}::integer) and (${queue}::text is null or queue in (${queue}::text, 'upkeep'))
    order by minute, queue`;

/**
 * Deletes what is not shown any more: figures of two days ago, processes that were last alive a day ago, and third parties that were last
 * called 30 days ago; returns the number of rows.
 */
export const deleteOldFigures = async (db: Db): Promise<number> =>
  (await countRows(db`delete from queue_minutes where minute < now() - interval '2 days'`)) +
  (await countRows(db`delete from vendor_calls where greatest(succeeded_at, failed_at) < now() - interval '30 days'`)) +
  (await countRows(db`delete from processes where beat_at < now() - interval '1 day'`));
