import type { Db } from "../db.js";
import { countRows } from "../rows.js";

/**
 * Counts an action. When it has happened `most` times in the present window, it is not counted, and the seconds until the
 * window's end are returned. A window begins with an action. `tx` is the action's transaction: a rollback takes the count back.
 */
export async function countAction(tx: Db, action: string, most: number | null, minutes: number) {
  const [refused] = await tx<{ seconds: number }[]>`
    select ceil(extract(epoch from ends_at - now()))::integer as seconds
    from count_action(${action}::text, ${most}::integer, make_interval(mins => ${minutes}::integer)) as ends_at
    where ends_at is not null`;
  return refused?.seconds;
}

/** Deletes up to `limit` counts of windows that have ended; returns their number. */
export const deleteOldActionCounts = (db: Db, limit: number) =>
  countRows(db`
    delete from action_counts where action = any (array(
      select action from action_counts where ends_at < now() limit ${limit}::integer for update skip locked
    ))`);
