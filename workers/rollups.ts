import { once } from "node:events";
import { addDays } from "../lib/domain/days.js";
import { config } from "../lib/process/config.js";
import { Snooze } from "../lib/process/errors.js";
import type { RollupsPayload } from "../queues/rollups.js";
import { longStatements, sql } from "../sql/db.js";
import { findYesterday, listDueDays, rollUpDay, applyWeightChanges } from "../sql/queries/rollups.js";
import type { Handler, Task } from "./consume.js";

/** Days that are rolled up again every night, even without a change. */
const LATEST_DAYS = 3;
/** Items per statement: each may have been sold on thousands of days, and who changes its weight meanwhile waits. */
const WEIGHTS = 20;

/** Rolls up one past day of a zone; safe to repeat, also concurrently. */
export const rollUpOneDay = (day: string, zone: string) => rollUpDay(longStatements, day, zone);

/** Applies all weight changes. */
export async function updateWeights(signal?: AbortSignal): Promise<number> {
  let total = 0;
  for (let count = WEIGHTS; count === WEIGHTS && !signal?.aborted; total += count)
    // it does little, but waits for rollups
    count = await applyWeightChanges(longStatements, WEIGHTS);
  return total;
}

async function rollUpDays({ payload, log, progress, signal }: Task<RollupsPayload>): Promise<void> {
  const zone = config.DEFAULT_TIMEZONE;
  if ("day" in payload) {
    await rollUpOneDay(payload.day, zone);
    await updateWeights(signal);
    return;
  }
  const yesterday = await findYesterday(sql, zone);
  const due = (await listDueDays(sql, zone, yesterday)).map(({ day }) => day);
  const latest =
    payload.days === "LATEST" ? Array.from({ length: LATEST_DAYS }, (_, ago) => addDays(yesterday, -ago)) : [];
  const all = new Set([...latest, ...due]);
  let days = 0;
  for (const day of all) {
    if (signal.aborted) break;
    await rollUpOneDay(day, zone);
    days += 1;
    progress(days, all.size);
  }
  const weights = await updateWeights(signal);
  if (days + weights > 0) log.info({ days, weights }, "days rolled up");
}

/**
 * Rolls up days, the latest first, as they are read most. When the process is about to stop it snoozes at once: Postgres finishes the
 * day that it is at, and the next run continues.
 */
export const rollUp: Handler<RollupsPayload> = async (task) => {
  const over = new AbortController();
  const stopping = once(task.signal, "abort", { signal: over.signal }).then(() => {
    throw new Snooze(new Date());
  });
  try {
    await Promise.race([rollUpDays(task), stopping]);
  } finally {
    over.abort();
  }
};
