import { transaction, type Db } from "../../sql/db.js";

/** Runs `lock`, such as a query with `for update`, in a transaction that stays open until the returned function is called. */
export async function lockRows(lock: (tx: Db) => Promise<unknown>): Promise<() => Promise<void>> {
  let unlock = (): void => undefined;
  const unlocked = new Promise<void>((resolve) => (unlock = resolve));
  let holding: Promise<void> | undefined;
  await new Promise<void>((locked, failed) => {
    holding = transaction(async (tx) => {
      await lock(tx);
      locked();
      await unlocked;
    });
    holding.catch(failed);
  });
  return async () => {
    unlock();
    await holding;
  };
}

/** The number of sessions of this test's database that wait for a lock. */
export const countBlocked = (): Promise<number> =>
  transaction(async (tx) => {
    const rows = await tx`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return rows.length;
  });

/** Terminates the sessions that wait for a lock. */
export async function terminateBlocked(): Promise<void> {
  await transaction(
    (tx) => tx`
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`,
  );
}
