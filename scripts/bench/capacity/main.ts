import { usage } from "../../command.js";
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { withLab } from "../lab.js";
import { print } from "../report.js";
import { checkWritable, readFigures } from "../run.js";
import { measure, settings, type Effort } from "./measure.js";
import { describe, pagePath, withCapacity } from "./report.js";
import { newRun, Run } from "./run.js";

/**
 * `npm run capacity -- [--quick] [--json FILE]`: measures what operations cost in all processes, and prints what a deployment of
 * each size needs. `--table FILE` measures nothing: it writes what follows from the figures of a file into scripts/ops/capacity.md.
 */

// an order is some requests, so each process has compiled its hot code after the warm-up
const full: Effort = { orders: 4_000, warmUpOrders: 4_000, reads: 8_000, uploads: 40, boxes: 5 };
const quick: Effort = { orders: 1_000, warmUpOrders: 1_500, reads: 4_000, uploads: 10, boxes: 2 };

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

function readArguments() {
  try {
    return parseArgs({
      options: { quick: { type: "boolean" }, json: { type: "string" }, table: { type: "string" } },
    }).values;
  } catch {
    return fail(usage);
  }
}

const values = readArguments();
if (values.table !== undefined) {
  if (Object.keys(values).length > 1) fail(usage);
  const run = await readFigures(values.table, Run).catch(fail);
  await writeFile(pagePath, withCapacity(await readFile(pagePath, "utf8"), run));
  process.exit();
}
const { json } = values;
if (json !== undefined) await checkWritable(json).catch(fail);

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());

try {
  const effort = values.quick ? quick : full;
  const start = performance.now();
  print(`This takes about ${values.quick ? "two" : "six"} minutes on two quiet cores.`);
  await withLab(
    stopping.signal,
    async (lab) => {
      const measured = await measure(lab, effort);
      const run = newRun(effort, measured, (performance.now() - start) / 1_000);
      if (json !== undefined) await writeFile(json, `${JSON.stringify(run, null, 2)}\n`);
      print(`\n${describe(run)}`);
    },
    settings,
  );
} catch (error) {
  process.stderr.write(`${stopping.signal.aborted ? "Stopped." : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
