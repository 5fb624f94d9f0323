import type { Db } from "../db.js";
import { onlyValue } from "../rows.js";

/** Rolls up a day in a zone, in place of its last rollup. Orders do not wait for it; another rollup does. */
export const rollUpDay = (db: Db, day: string, zone: string) => db`select from roll_up(${day}::date, ${zone}::text)`;

/** Finds yesterday's date in a zone by Postgres's clock: YYYY-MM-DD. */
export const findYesterday = (db: Db, zone: string) =>
  onlyValue(db<{ day: string }[]>`
    select coalesce((now() at time zone ${zone}::text)::date - 1, current_date) as day`);

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
export const applyWeightChanges = (db: Db, limit: number) =>
  onlyValue(db<{ count: number }[]>`
    select coalesce(count, 0) as count from apply_weight_changes(${limit}::integer) as count`);
