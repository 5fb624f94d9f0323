import type { Db } from "../db.js";
import { countRows } from "../rows.js";

/** Adds hits to the counters of one window; returns their totals over all processes. */
export const addRateHits = (db: Db, windowEnd: Date, keys: string[], hits: number[]) =>
  db<{ key: string; hits: number }[]>`
    insert into rate_counters as counter (key, window_end, hits)
    select key, ${windowEnd}::timestamptz, hits
    from unnest(${keys}::text[], ${hits}::integer[]) as added (key, hits)
    order by key
    on conflict (key, window_end) do update set hits = counter.hits + excluded.hits
    returning key, hits`;

/** Deletes up to `limit` counters of windows that ended 10 minutes ago; returns their number. */
export const deleteOldRateCounters = (db: Db, limit: number) =>
  countRows(db`
    delete from rate_counters
    where (key, window_end) in (
      select key, window_end from rate_counters where window_end < now() - interval '10 minutes' limit ${limit}
      for update skip locked
    )`);
