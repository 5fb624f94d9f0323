import type { Measure } from "./chapter.js";
import { median } from "./compare.js";
import type { Program } from "./program.js";
import { print, printGoal, printPart, printRow } from "./report.js";

const MOST_CPU_SECONDS = 0.8;
const MOST_MB = 110;
const MOST_MB_OF_ONE_QUEUE = 100;
/** With npm itself, which is not measured, about a third of a second more. */
const MOST_SECONDS = 3;

/** Starts a program again and again; measures its CPU time until it is up, and its memory then. */
async function measureProgram(rounds: number, mostMb: number, start: () => Promise<Program>): Promise<void> {
  const cpuSeconds: number[] = [];
  const memoryMb: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const program = await start();
    const [cpu, memory] = [program.cpuSeconds(), program.memoryBytes()];
    await program.stop();
    if (cpu !== null) cpuSeconds.push(cpu);
    if (memory !== null) memoryMb.push(memory / 1e6);
  }
  if (cpuSeconds.length === 0) {
    print("  skipped: this system has no /proc");
    return;
  }
  printGoal({ name: "CPU time", value: median(cpuSeconds), unit: "s", sign: "≤", goal: MOST_CPU_SECONDS });
  printGoal({ name: "memory", value: median(memoryMb), unit: "MB", sign: "≤", goal: mostMb });
}

/** Measures the start of one process of each kind, and of everything by `npm start`. */
export const measureStarts: Measure = async (lab, _marketplace, { rounds }) => {
  printPart("an API process, until it listens");
  await measureProgram(rounds, MOST_MB, () => lab.start("api/server"));

  // this module reads the configuration on import, so the lab must have set it
  const { prepareBroker } = await import("../../queues/broker.js");
  await prepareBroker();
  const env = lab.redisUrl === null ? {} : { REDIS_URL: lab.redisUrl };
  printPart("a worker process of all queues, until it is up");
  await measureProgram(rounds, MOST_MB, () => lab.start("workers/main", env));
  printPart("a worker process of one queue, until it is up");
  await measureProgram(rounds, MOST_MB_OF_ONE_QUEUE, () => lab.start("workers/main", env, ["push"]));

  printPart("npm start with its own Postgres and existing data, until it is ready");
  const seconds: number[] = [];
  const cpuSeconds: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const start = performance.now();
    const everything = await lab.startEverything("installation");
    const took = (performance.now() - start) / 1_000;
    const cpu = everything.cpuSeconds();
    await everything.stop();
    // the first start makes the data
    if (round === 0) continue;
    seconds.push(took);
    if (cpu !== null) cpuSeconds.push(cpu);
  }
  if (cpuSeconds.length > 0) printRow("CPU time, without Postgres", [{ value: median(cpuSeconds), unit: "s" }]);
  printGoal({ name: "duration", value: median(seconds), unit: "s", sign: "≤", goal: MOST_SECONDS });
};
