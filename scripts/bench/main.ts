import { usage } from "../command.js";
import { withProgress } from "../progress-bar.js";
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { chapters } from "./chapters.js";
import type { Effort } from "./compare.js";
import { CLIENTS } from "./http.js";
import { withLab } from "./lab.js";
import { seedMarketplace } from "./marketplace.js";
import { beginChapter, endChapter, print } from "./report.js";
import {
  checkWritable,
  describeComparison,
  describeRun,
  newRun,
  readmePath,
  readRun,
  withFigures,
  writeRun,
} from "./run.js";

/**
 * `npm run bench -- [--quick] [--json FILE] [--compare FILE] [chapter…]`: compares the service with the libraries it is built
 * on, side by side. `--table FILE` measures nothing: it writes the figures of a file into the README.
 */

const full: Effort = { rounds: 5, seconds: 4, warmUpSeconds: 3, samples: 250 };
const quick: Effort = { rounds: 3, seconds: 1, warmUpSeconds: 1, samples: 50 };

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

function readArguments() {
  const options = {
    quick: { type: "boolean" },
    json: { type: "string" },
    compare: { type: "string" },
    table: { type: "string" },
  } as const;
  try {
    return parseArgs({ allowPositionals: true, options });
  } catch {
    return fail(usage);
  }
}

const { values, positionals } = readArguments();
const { json } = values;
if (values.table !== undefined) {
  if (Object.keys(values).length > 1 || positionals.length > 0) fail(usage);
  const run = await readRun(values.table).catch(fail);
  await writeFile(readmePath, withFigures(await readFile(readmePath, "utf8"), run));
  process.exit();
}

const unknown = positionals.filter((name) => !Object.hasOwn(chapters, name));
if (unknown.length > 0)
  fail(`There is no chapter ${unknown.join(", ")}. There are: ${Object.keys(chapters).join(", ")}.`);
const earlier = values.compare === undefined ? null : await readRun(values.compare).catch(fail);
if (json !== undefined) await checkWritable(json).catch(fail);
const all = Object.keys(chapters).filter((name) => earlier === null || Object.hasOwn(earlier.chapters, name));
const names = positionals.length > 0 ? positionals : all;

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());

try {
  const start = performance.now();
  const run = newRun(values.quick ? quick : full);
  print(`${describeRun(run)}; ${CLIENTS} clients, medians of alternating rounds.`);
  for (const line of earlier ? describeComparison(earlier, names) : []) print(line);
  await withLab(stopping.signal, async (lab) => {
    await withProgress("chapters", async (report) => {
      for (const [index, name] of names.entries()) {
        const chapter = chapters[name];
        if (!chapter) continue;
        // what a chapter measures must not depend on the orders that those before it have left
        const marketplace = await seedMarketplace(lab.databaseUrl);
        const figures = beginChapter(`${chapter.title} (${name})`, earlier?.chapters[name]);
        report(index, names.length);
        await chapter.measure(lab, marketplace, run.effort);
        endChapter();
        run.chapters[name] = figures;
        // a run that is stopped keeps the chapters that have ended
        if (json !== undefined) await writeRun(json, run);
        await lab.stopPrograms();
      }
    });
    print(`\nAll of it took ${Math.ceil((performance.now() - start) / 60_000)} min.`);
  });
} catch (error) {
  process.stderr.write(`${stopping.signal.aborted ? "Stopped." : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
