import { config } from "../lib/process/config.js";
import { sql } from "../sql/db.js";
import { findLogEnds } from "../sql/queries/events.js";
import {
  bookEvents,
  bookOrdersAfter,
  closeMonth,
  findLedgerMonths,
  skipDroppedEvents,
  updateStatementsMade,
} from "../sql/queries/ledger.js";
import { makeStatements } from "../sql/queries/statements.js";
import type { Task } from "./consume.js";

/** Events or orders per transaction, which holds the lock on the ledger. */
const BATCH = 1_000;
/** Partners per transaction: each may have thousands of lines. */
const PARTNERS = 200;

type LedgerTask = Pick<Task<{ task: string }>, "log" | "progress" | "signal">;

const zone = config.DEFAULT_TIMEZONE;

/** Books all unbooked completed orders, after the log dropped unread events; false when it was cut short. */
async function bookFromOrders({ log, signal }: LedgerTask): Promise<boolean> {
  // events that are dropped later were read by now, or lead here again
  const { dropped } = await findLogEnds(sql);
  log.warn({ dropped }, "the event log has dropped events that were not booked; orders are booked without them");
  for (let after: string | null = null; ;) {
    if (signal.aborted) return false;
    after = await bookOrdersAfter(sql, after, BATCH, zone);
    if (after === null) break;
  }
  await skipDroppedEvents(sql, dropped);
  return true;
}

/** Books the events since the last run, each fact once; returns how many events it read. */
export async function bookLedger(task: LedgerTask): Promise<number> {
  const { progress, signal } = task;
  let read = 0;
  while (!signal.aborted) {
    const taken = await bookEvents(sql, BATCH, zone);
    if (taken === 0) break;
    if (taken === null) {
      if (!(await bookFromOrders(task))) break;
      continue;
    }
    read += taken;
    progress(read, null);
  }
  return read;
}

/** Makes the statements of a closed month; returns their number, and whether all exist now. */
async function makeStatementsOf(month: string, { signal }: LedgerTask): Promise<{ made: number; all: boolean }> {
  let total = 0;
  for (let after: string | null = null; !signal.aborted;) {
    const run = { month, zone, currency: config.CURRENCY, after };
    const { last, made }: Awaited<ReturnType<typeof makeStatements>> = await makeStatements(sql, run, PARTNERS);
    total += made;
    if (last === null) return { made: total, all: true };
    after = last;
  }
  return { made: total, all: false };
}

/**
 * Makes the statements of every month that has ended, the oldest first; returns their number. A run that is cut short, or
 * runs in parallel with another, leaves the rest to the next.
 *
 * 1. Book all events so far: later bookings are on the next statement.
 * 2. Close the month.
 * 3. Make its statements, partner by partner in batches.
 * 4. Record that they all exist.
 */
export async function makeDueStatements(task: LedgerTask): Promise<number> {
  const { log, progress, signal } = task;
  await bookLedger(task);
  let total = 0;
  while (!signal.aborted) {
    const { next: month, current } = await findLedgerMonths(sql, zone);
    if (month >= current) break;
    await closeMonth(sql, month);
    const { made, all } = await makeStatementsOf(month, task);
    total += made;
    progress(total, null);
    if (!all) break;
    await updateStatementsMade(sql, month);
  }
  if (total > 0) log.info({ statements: total }, "monthly statements made");
  return total;
}
