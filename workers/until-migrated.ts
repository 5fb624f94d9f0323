import { setTimeout as delay } from "node:timers/promises";
import { describeError } from "../lib/process/describe-error.js";
import { log } from "../lib/process/log.js";
import { pingDatabase, sql } from "../sql/db.js";
import { pendingMigrations } from "../sql/migrations.js";

const CHECK_MS = 1_000;

/** Says why the database keeps jobs from running; null when it does not. */
async function findProblem(): Promise<{ facts: object; message: string } | null> {
  try {
    await pingDatabase();
    const pending = await pendingMigrations(sql);
    const message = "migrations are pending: this process runs no jobs until they are applied";
    return pending.length === 0 ? null : { facts: { pending }, message };
  } catch (error) {
    const message = "DATABASE_URL cannot be used: this process runs no jobs until it can";
    return { facts: { error: describeError(error) }, message };
  }
}

/**
 * Waits until this release's migrations are applied, and logs what it waits for: on an older schema jobs would fail and spend
 * their attempts. False when `signal` is aborted before.
 */
export async function untilMigrated(signal: AbortSignal): Promise<boolean> {
  let logged = "";
  while (!signal.aborted) {
    const problem = await findProblem();
    if (problem === null) return !signal.aborted;
    if (problem.message !== logged) log.error(problem.facts, problem.message);
    logged = problem.message;
    await delay(CHECK_MS, undefined, { signal }).catch(() => undefined);
  }
  return false;
}
