import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { inspect, promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startOwnPostgres, type OwnPostgres } from "../support/own-postgres.js";
import { randomFrom } from "../support/random.js";
import type { TestRedis } from "../support/redis.js";
import { until } from "../support/until.js";

/** Every fault happens once, and again when there is time: `npm run faults` gives more of it. */
const { TEST_STORM_SECONDS } = process.env;
const durationMs = Number(TEST_STORM_SECONDS ?? 0) * 1_000;

/** How soon after its last fault the service has to do everything again; where other tests run beside, it only has to. */
const RECOVERY_LIMIT_MS = TEST_STORM_SECONDS === undefined ? 300_000 : 15_000;
/** What failed many times waits for its next attempt, and a schedule for its next tick; after this the report says what is missing. */
const SETTLE_LIMIT_MS = 300_000;

const seed = Number(process.env["TEST_STORM_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

const migrate = fileURLToPath(new URL("../../scripts/migrate.ts", import.meta.url));

/** Lets clients order and ask for codes while everything fails that can, and compares what they were told with what came of it. */
export function testStorm(broker: string, redis: TestRedis | null): void {
  let postgres: OwnPostgres;

  beforeAll(async () => {
    postgres = await startOwnPostgres();
    process.env["DATABASE_URL"] = postgres.url;
    await promisify(execFile)(process.execPath, ["--import", "tsx", migrate], { env: process.env });
  });

  afterAll(() => postgres.stop());

  test(
    `under a storm of faults, with BullMQ on ${broker}, whatever was acknowledged is done, and once`,
    async () => {
      const { closeDatabase } = await import("../../sql/db.js");
      const { check } = await import("../support/checker.js");
      const { faultsOf, inflict } = await import("../support/faults.js");
      const { prepareService } = await import("../support/programs.js");
      const { startTraffic } = await import("../support/traffic.js");

      const service = await prepareService();
      try {
        await service.start();
        const clients = await startTraffic(service.client, postgres.ask, randomFrom(seed + 1));
        const random = randomFrom(seed);
        const faults = await inflict(faultsOf(service, postgres, redis, random), durationMs, random);

        const calm = new Date();
        const msSince = (): number => Date.now() - calm.getTime();
        const { orderId, seller } = await clients.placeOne();
        await until(async () => {
          const sent = await postgres.ask("select from notifications where order_id = $1 and status = 'SENT'", [
            orderId,
          ]);
          return sent.length === seller.peopleIds.length + 1 || msSince() > SETTLE_LIMIT_MS;
        });
        const recoveryMs = msSince();

        const traffic = await clients.finish();
        await until(async () => {
          const open = await postgres.ask(
            "select from staged_jobs where done_at is null and dead_at is null and payload ->> 'event' is distinct from 'PICKUP_SOON'",
          );
          const ticks = await postgres.ask("select from heartbeats where name = 'canary' and beat_at > $1", [calm]);
          return (open.length === 0 && ticks.length === 1) || msSince() > SETTLE_LIMIT_MS;
        });
        const settledMs = msSince();
        const ticks = await postgres.ask("select from heartbeats where name = 'canary' and beat_at > $1", [calm]);
        const { wrong, counts } = await check(
          postgres.ask,
          traffic,
          service.workers.flatMap(({ lines }) => lines),
        );

        const report = { seed, faults: faults.length, ...counts, recoveryMs, settledMs };
        process.stderr.write(`storm, BullMQ on ${broker}: ${inspect(report, { breakLength: Infinity })}\n`);
        expect({ wrong, accidents: service.accidents, ticks: ticks.length }).toEqual({
          wrong: [],
          accidents: [],
          ticks: 1,
        });
        expect(recoveryMs).toBeLessThanOrEqual(RECOVERY_LIMIT_MS);
        await service.start();
      } finally {
        await service.stop();
        await closeDatabase();
      }
    },
    durationMs + 1_200_000,
  );
}
