import type { Db } from "../db.js";

/** Adds hits to the counters of one window; returns their totals over all processes. */
export const addRateHits = (db: Db, windowStart: Date, keys: string[], hits: number[]) =>
  db<{ key: string; hits: number }[]>`
    insert into rate_counters as counter (key, window_start, hits)
    select key, ${windowStart}::timestamptz, hits
    from unnest(${keys}::text[], ${hits}::integer[]) as added (key, hits)
    order by key
    on conflict (key, window_start) do update set hits = counter.hits + excluded.hits
    returning key, hits`;

/** Deletes up to `limit` counters of windows that began 10 minutes ago; returns their number. */
export async function deleteOldRateCounters(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    delete from rate_counters
    where (key, window_start) in (
      select key, window_start from rate_counters where window_start < now() - interval '10 minutes' limit ${limit}
      for update skip locked
    )`;
  return count;
}
