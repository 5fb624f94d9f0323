import type { Db } from "../db.js";

/**
 * Closes a day as it is cut in a zone, to be committed before it is rolled up. Throws an error of `isConnectionLost` when
 * orders or boxes of that day are just being made or moved: then it is for later.
 */
export async function closeDay(db: Db, day: string, zone: string): Promise<void> {
  await db`select from close_day(${day}::date, ${zone}::text)`;
}

/** Counts a closed day, also when it has been counted before; false when it is not closed in this zone (any more). */
export async function rollUpDay(db: Db, day: string, zone: string): Promise<boolean> {
  const [row] = await db<{ done: boolean | null }[]>`
    select done from roll_up_day(${day}::date, ${zone}::text) as done`;
  return row?.done === true;
}

/** The day before today, as Postgres's clock shows it in a zone: YYYY-MM-DD. */
export async function findYesterday(db: Db, zone: string): Promise<string> {
  const [row] = await db<{ day: string }[]>`
    select coalesce((now() at time zone ${zone}::text)::date - 1, current_date) as day`;
  if (!row) throw new Error("the database has no day");
  return row.day;
}

/** Lists the days until `last`, latest first, since there are orders or boxes, that have to be counted whenever they are asked for. */
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

/** Works up to `limit` changed weights into the days that are rolled up; answers of how many things they are. */
export async function workInWeights(db: Db, limit: number): Promise<number> {
  const [row] = await db<{ count: number | null }[]>`select count from work_in_weights(${limit}::integer) as count`;
  return row?.count ?? 0;
}
