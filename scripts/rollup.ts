import "./configured.js";
import { parseArgs } from "node:util";
import { z } from "zod";
import { config } from "../lib/process/config.js";
import { addDays } from "../lib/domain/days.js";
import { exitWithLine } from "../lib/process/lifecycle.js";
import { closeDatabase, sql } from "../sql/db.js";
import { findYesterday } from "../sql/queries/rollups.js";
import { rollUpOneDay, updateWeights } from "../workers/rollups.js";
import { usage } from "./command.js";
import { print, withProgress } from "./progress-bar.js";

/** `npm run rollup -- --from 2026-01-01 [--to 2026-01-31]`: recomputes the rollups of these days, both ends included. */

const Day = z.iso.date();

function readArguments(yesterday: string): { from: string; to: string } | undefined {
  try {
    const { values } = parseArgs({ options: { from: { type: "string" }, to: { type: "string" } } });
    const from = Day.safeParse(values.from);
    const to = Day.safeParse(values.to ?? yesterday);
    return from.success && to.success ? { from: from.data, to: to.data } : undefined;
  } catch {
    // an unknown option prints the usage too
    return undefined;
  }
}

const zone = config.DEFAULT_TIMEZONE;
const yesterday = await findYesterday(sql, zone);
const days = readArguments(yesterday);
if (!days) {
  await closeDatabase();
  exitWithLine(usage);
}
if (days.from > days.to || days.to > yesterday) {
  await closeDatabase();
  exitWithLine(
    `The days must be past, and the first not after the last; in ${zone} the latest past day is ${yesterday}.`,
  );
}

const all: string[] = [];
for (let day = days.from; day <= days.to; day = addDays(day, 1)) all.push(day);
await withProgress("days", async (report) => {
  report(0, all.length);
  for (const [index, day] of all.entries()) {
    await rollUpOneDay(day, zone);
    print(`${day}\n`);
    report(index + 1, all.length);
  }
  await updateWeights();
});
await closeDatabase();
process.stdout.write(`${all.length} ${all.length === 1 ? "day" : "days"} rolled up.\n`);
