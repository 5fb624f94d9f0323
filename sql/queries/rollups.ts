import type { Db } from "../db.js";

/** Rolls up a day in a zone, in place of its last rollup. Orders do not wait for it; another rollup does. */
export async function rollUpDay(db: Db, day: string, zone: string): Promise<void> {
  await db`select from roll_up(${day}::date, ${zone}::text)`;
}

/** Finds yesterday's date in a zone by Postgres's clock: YYYY-MM-DD. */
export async function findYesterday(db: Db, zone: string): Promise<string> {
  const [row] = await db<{ day: string }[]>`
    select coalesce((now() at time zone ${zone}::text)::date - 1, current_date) as day`;
  if (!row) throw new Error("yesterday's date was not returned");
  return row.day;
}

/** Lists the live days (not rolled up, or changed since) from the first order or box to `last`, latest first. */
export const listDueDays = (db: Db, zone: string, last: string) =>
  db<{ day: string }[]>`
    with beginning as (
      select least(
        (select created_at from orders order by id limit 1),
        (select created_at from boxes order by id limit 1)
      ) as at
    )
    select coalesce(l.day, now()::date) as day
    from live_days(
      ${zone}::text, (select (beginning.at at time zone ${zone}::text)::date from beginning), ${last}::date
    ) l
    order by l.day desc`;

/** Applies the weight changes of up to `limit` items to rolled-up days; returns the number of items. */
export async function applyWeightChanges(db: Db, limit: number): Promise<number> {
  const [row] = await db<
    { count: number | null }[]
  >`select count from apply_weight_changes(${limit}::integer) as count`;
  return row?.count ?? 0;
}
