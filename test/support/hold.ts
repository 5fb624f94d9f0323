import { transaction, type Db } from "../../sql/db.js";

/** Keeps rows locked, by a query that ends in `for update`, until what it answers is called: whoever wants to change them is stopped there. */
export async function hold(lock: (tx: Db) => Promise<unknown>): Promise<() => Promise<void>> {
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

/** How many sessions of this test's database wait for a lock that another one has; all the shared connections may be among them. */
export const countWaiting = (): Promise<number> =>
  transaction(async (tx) => {
    const rows = await tx`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return rows.length;
  });

/** Ends the sessions that wait for a lock. */
export async function endWaiting(): Promise<void> {
  await transaction(
    (tx) => tx`
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`,
  );
}
