import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { parseEnv } from "node:util";
import { startDeployment } from "./deployment.js";
import type { Incident, Town } from "./incidents.js";

/**
 * `npm run incidents`: causes ten incidents in a service of its own, one after the other. The operator resolves them with
 * the console, the runbook and a shell. It prints the duration of each. Names choose some of the ten.
 */

const LOOK_EVERY_MS = 2_000;
const say = (text: string) => void process.stdout.write(`${text}\n`);

say("Starting Postgres, Redis, third parties, the API and two workers …");
const deployment = await startDeployment();
Object.assign(process.env, parseEnv(await readFile(deployment.envFile, "utf8")));

const { incidents, openTown } = await import("./incidents.js");
const { Client } = await import("../support/api.js");
const { closeDatabase } = await import("../../sql/db.js");
const { closeSignals } = await import("../../sql/signals.js");
const { closeBroker } = await import("../../queues/broker.js");

const names = process.argv.slice(2);
const chosen = Object.entries(incidents).filter(([name]) => names.length === 0 || names.includes(name));
const unknown = names.filter((name) => !Object.hasOwn(incidents, name));
if (unknown.length > 0)
  say(`There is no incident ${unknown.join(", ")}; there are ${Object.keys(incidents).join(", ")}.`);
const ending = new AbortController();

say(`
  Console    ${deployment.url}/admin/ops
  Sign in    phone +79990000000, code 000000
  Runbook    scripts/ops/runbook.md
  Shell      set -a; . ${deployment.envFile}; set +a; npm run ops -- now
  Logs       ${deployment.folder}/*.log

Here you are the machine: \`restart\` starts the processes again, with the variables in that file as they are then.
\`skip\` leaves an incident, \`end\` ends the drill.
`);

const lines = createInterface({ input: process.stdin });
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void deployment.stop().finally(() => process.exit(1)));

/** Runs one incident, until it is over or skipped; returns its result. */
async function play(town: Town, { symptom, begin, isOver, leave, commands = {} }: Incident): Promise<string> {
  const skipping = new AbortController();
  const skipped = new Promise<void>((resolve) => skipping.signal.addEventListener("abort", () => resolve()));
  const listen = (line: string) => {
    const word = line.trim();
    if (word === "end") ending.abort();
    if (word === "skip" || word === "end") skipping.abort();
    const doing = word === "restart" ? deployment.restart() : commands[word]?.run(town);
    void doing?.then(
      () => say(`    ${word}: done`),
      (error: unknown) => say(`    ${word}: ${String(error)}`),
    );
  };
  lines.on("line", listen);
  try {
    await Promise.race([begin(town), skipped]);
    const began = performance.now();
    say(`\n*** ${symptom}`);
    for (const [word, { what }] of Object.entries(commands)) say(`    \`${word}\` ${what}.`);
    while (!skipping.signal.aborted && !(await isOver(town).catch(() => false)))
      await Promise.race([delay(LOOK_EVERY_MS), skipped]);
    const minutes = ((performance.now() - began) / 60_000).toFixed(1);
    if (!skipping.signal.aborted) return `solved after ${minutes} min`;
    await leave(town);
    return `not solved after ${minutes} min`;
  } catch (error) {
    return `not begun: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    lines.off("line", listen);
  }
}

async function drill(): Promise<void> {
  const town = await openTown(new Client(deployment.url), deployment);
  const results: string[] = [];
  for (const [name, incident] of chosen) {
    if (ending.signal.aborted) break;
    say("\n… making trouble …");
    const result = `${name.padEnd(18)} ${await play(town, incident)}`;
    say(`\n    ${result}. Its paragraph in the runbook is “${incident.paragraph}”.`);
    results.push(result);
  }
  say(`\n${results.join("\n")}\n`);
}

try {
  await drill();
} finally {
  lines.close();
  await Promise.all([closeSignals(), closeBroker()]);
  await closeDatabase();
  await deployment.stop();
}
// an incident that was skipped at its beginning may never end
process.exit(0);
