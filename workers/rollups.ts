import { addDays } from "../lib/domain/days.js";
import { config } from "../lib/process/config.js";
import type { RollupsPayload } from "../queues/rollups.js";
import { sql, transaction } from "../sql/db.js";
import { findYesterday, listDueDays, rollUpDay, applyWeightChanges } from "../sql/queries/rollups.js";
import type { Handler } from "./consume.js";

/** Days that are rolled up again every night, even without a change. */
const LATEST_DAYS = 3;
const WEIGHTS = 200;

/** Rolls up one past day of a zone, in one transaction; safe to repeat, also concurrently. */
export const rollUpOneDay = (day: string, zone: string) =>
  // in a transaction it has a connection to itself: no other statement waits behind it
  transaction((tx) => rollUpDay(tx, day, zone));

/** Applies all weight changes. */
export async function updateWeights(signal?: AbortSignal): Promise<number> {
  let total = 0;
  for (let count = WEIGHTS; count === WEIGHTS && !signal?.aborted; total += count)
    count = await transaction((tx) => applyWeightChanges(tx, WEIGHTS));
  return total;
}

/** Rolls up days, the latest first, as they are read most. */
export const rollUp: Handler<RollupsPayload> = async ({ payload, log, progress, signal }) => {
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
};
