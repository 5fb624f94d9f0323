import { print, type Contender, type Effort } from "./compare.js";
import type { Lab } from "./lab.js";
import type { Marketplace } from "./marketplace.js";
import type { Program } from "./program.js";

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
export async function onEachBroker(lab: Lab, work: (env: NodeJS.ProcessEnv) => Promise<void>): Promise<void> {
  for (const [name, env] of [
    ["BullMQ on Redis", lab.redisUrl === null ? null : { REDIS_URL: lab.redisUrl }],
    ["BullMQ on Postgres", {}],
  ] as const) {
    print(`  ${name}${env ? "" : ": skipped, there is no redis-server"}`);
    if (env) await work(env);
  }
}
