import type { Db } from "../db.js";

/** Adds hits to the counters of one window and returns what all processes together have counted there. */
export const addRateHits = (db: Db, windowStart: Date, keys: string[], hits: number[]) =>
  db<{ key: string; hits: number }[]>`
    insert into rate_counters as counter (key, window_start, hits)
    select key, ${windowStart}::timestamptz, hits
    from unnest(${keys}::text[], ${hits}::integer[]) as added (key, hits)
    order by key
    on conflict (key, window_start) do update set hits = counter.hits + excluded.hits
    returning key, hits`;

/** Removes the counters of windows that are over. */
export const deleteOldRateCounters = (db: Db, before: Date) =>
  db`delete from rate_counters where window_start < ${before}::timestamptz`;
