import type { Contender, Effort } from "./compare.js";
import type { Lab } from "./lab.js";
import type { Marketplace } from "./marketplace.js";
import type { Program } from "./program.js";
import { print, printPart } from "./report.js";

/** Runs one chapter of the bench and prints its figures. */
export type Measure = (lab: Lab, marketplace: Marketplace, effort: Effort) => Promise<void>;

/** A server's peak memory under load, in MB, sampled ten times a second. */
export async function memoryUnderLoad(contender: Contender, server: Program, seconds: number): Promise<number | null> {
  let most = server.memoryBytes();
  const timer = setInterval(() => {
    const now = server.memoryBytes();
    if (most !== null && now !== null) most = Math.max(most, now);
  }, 100);
  await contender.measure(seconds);
  clearInterval(timer);
  return most === null ? null : most / 1e6;
}

/** Runs `work` once for each broker that this machine has. */
export async function onEachBroker(
  lab: Lab,
  work: (env: NodeJS.ProcessEnv, broker: "Redis" | "Postgres") => Promise<void>,
): Promise<void> {
  if (lab.redisUrl === null) {
    print("  BullMQ on Redis: skipped, there is no redis-server");
  } else {
    printPart("BullMQ on Redis");
    await work({ REDIS_URL: lab.redisUrl }, "Redis");
  }
  printPart("BullMQ on Postgres");
  await work({}, "Postgres");
}
