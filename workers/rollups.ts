import { setTimeout as delay } from "node:timers/promises";
import { config } from "../lib/process/config.js";
import { addDays } from "../lib/domain/days.js";
import { isConnectionLost, sql, transaction } from "../sql/db.js";
import { closeDay, findYesterday, listDueDays, rollUpDay, workInWeights } from "../sql/queries/rollups.js";
import type { Handler } from "./consume.js";

/** What is counted again every night, whatever is known of it. */
const LATEST_DAYS = 3;
const WEIGHTS = 200;
const CLOSING_TRIES = 20;
const CLOSING_PAUSE_MS = 250;

/**
 * Counts one day anew as it is cut in a zone, whole or not at all. It may be any day that is over, and be done any number
 * of times at once.
 */
export async function rollUpOneDay(day: string, zone: string): Promise<void> {
  for (let counted = false; !counted;) {
    await close(day, zone);
    // a transaction has a connection to itself: nobody waits behind it
    counted = await transaction((tx) => rollUpDay(tx, day, zone));
  }
}

/** Closes a day as soon as nobody is in the middle of changing what it counts. */
async function close(day: string, zone: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await transaction((tx) => closeDay(tx, day, zone));
      return;
    } catch (error) {
      if (tries === CLOSING_TRIES || !isConnectionLost(error)) throw error;
      await delay(CLOSING_PAUSE_MS);
    }
  }
}

/** Works in all the weights that have changed. */
export async function updateWeights(signal?: AbortSignal): Promise<number> {
  let total = 0;
  for (let count = WEIGHTS; count === WEIGHTS && !signal?.aborted; total += count)
    count = await transaction((tx) => workInWeights(tx, WEIGHTS));
  return total;
}

/** Rolls up what its payload says, day by day, the latest first: they are asked for most. */
export const rollUp: Handler<{ days: "DUE" | "LATEST" }> = async ({ payload, log, signal }) => {
  const zone = config.DEFAULT_TIMEZONE;
  const yesterday = await findYesterday(sql, zone);
  const due = (await listDueDays(sql, zone, yesterday)).map(({ day }) => day);
  const latest =
    payload.days === "LATEST" ? Array.from({ length: LATEST_DAYS }, (_, ago) => addDays(yesterday, -ago)) : [];
  let days = 0;
  for (const day of new Set([...latest, ...due])) {
    if (signal.aborted) break;
    await rollUpOneDay(day, zone);
    days += 1;
  }
  const weights = await updateWeights(signal);
  if (days + weights > 0) log.info({ days, weights }, "days rolled up");
};
