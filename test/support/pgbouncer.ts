import { rm } from "node:fs/promises";
import { describe } from "@jest/globals";
import { launchPgbouncer, pgbouncerVersion, type Pooler, type PoolerOptions } from "../../scripts/bench/pgbouncer.js";
import { scratchFolder } from "./scratch.js";

export { keepsPrepared } from "../../scripts/bench/pgbouncer.js";

/** Whether this machine has PgBouncer. */
export const pgbouncerAvailable = pgbouncerVersion !== null;

/** A suite that needs PgBouncer; without it it is reported as skipped. */
export const describeWithPgbouncer: (name: string, suite: () => void) => void = (name, suite) =>
  pgbouncerAvailable ? describe(name, suite) : describe.skip(`${name} (no pgbouncer on the PATH)`, suite);

export interface TestPooler extends Pooler {
  stop(): Promise<void>;
}

/** Starts a pooler in front of a database. */
export async function startPgbouncer(databaseUrl: string, options?: PoolerOptions): Promise<TestPooler> {
  const folder = await scratchFolder("pgbouncer");
  const pooler = await launchPgbouncer(databaseUrl, folder, options);
  return Object.assign(pooler, {
    stop: async () => {
      await pooler.kill();
      await rm(folder, { recursive: true, force: true });
    },
  });
}
