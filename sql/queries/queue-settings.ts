import type { Db } from "../db.js";
import { hasRows } from "../rows.js";

/** The signal that the settings of queues have changed. */
export const queueSettingsChanged = "queue-settings";

/** What operators have set for a queue. */
export interface QueueSetting {
  queue: string;
  /** Null when it is not paused. */
  pausedAt: Date | null;
  pausedWhy: string | null;
  /** Jobs that a process runs at once; null: as configured. */
  concurrency: number | null;
  /** Jobs that all processes together start a minute; null: no limit. */
  perMinute: number | null;
}

/** Lists the settings of the queues that have any. */
export const listQueueSettings = (db: Db) =>
  db<QueueSetting[]>`select queue, paused_at, paused_why, concurrency, per_minute from queue_settings order by queue`;

/** Pauses a queue; false when it is paused already. */
export const updateQueuePaused = (db: Db, queue: string, why: string) =>
  hasRows(db`
    insert into queue_settings (queue, paused_at, paused_why)
    values (${queue}, now(), ${why})
    on conflict (queue) do update set paused_at = excluded.paused_at, paused_why = excluded.paused_why
    where queue_settings.paused_at is null`);

/** Ends the pause of a queue; false when it is not paused. */
export const updateQueueResumed = (db: Db, queue: string) =>
  hasRows(db`
    update queue_settings set paused_at = null, paused_why = null where queue = ${queue} and paused_at is not null`);

/** Sets how many jobs of a queue a process runs at once, null: as configured; false when that is set already. */
export const updateQueueConcurrency = (db: Db, queue: string, concurrency: number | null) =>
  hasRows(db`
    insert into queue_settings (queue, concurrency)
    values (${queue}, ${concurrency})
    on conflict (queue) do update set concurrency = excluded.concurrency
    where queue_settings.concurrency is distinct from excluded.concurrency`);

/** Sets how many jobs of a queue are started a minute, null: no limit; false when that is set already. */
export const updateQueueRate = (db: Db, queue: string, perMinute: number | null) =>
  hasRows(db`
    insert into queue_settings (queue, per_minute)
    values (${queue}, ${perMinute})
    on conflict (queue) do update set per_minute = excluded.per_minute
    where queue_settings.per_minute is distinct from excluded.per_minute`);
