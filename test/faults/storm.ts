import { execFile } from "node:child_process";
import { inspect, promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { compiled } from "../support/compiled.js";
import { startOwnPostgres, type OwnPostgres } from "../support/own-postgres.js";
import { randomFrom } from "../support/random.js";
import type { TestRedis } from "../support/redis.js";
import { until } from "../support/until.js";

/** Every fault happens once; `npm run faults` repeats them for some minutes. */
const { TEST_STORM_SECONDS } = process.env;
const durationMs = Number(TEST_STORM_SECONDS ?? 0) * 1_000;

/** How soon after the last fault the service must work again; when other tests run beside, it only must at some time. */
const RECOVERY_LIMIT_MS = TEST_STORM_SECONDS === undefined ? 300_000 : 15_000;
/** Failed jobs wait for their next attempt, and schedules for their next tick. After this time the report lists what is missing. */
const SETTLE_LIMIT_MS = 300_000;

const seed = Number(process.env["TEST_STORM_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

/** Lets clients place orders and request codes while every fault happens, and compares their answers with the database. */
export function testStorm(broker: string, redis: TestRedis | null): void {
  let postgres: OwnPostgres;

  beforeAll(async () => {
    postgres = await startOwnPostgres();
    process.env["DATABASE_URL"] = postgres.url;
    await promisify(execFile)(process.execPath, [compiled("scripts/migrate.ts")], { env: process.env });
  });

  afterAll(() => postgres.stop());

  test(
    `under a storm of faults, with BullMQ on ${broker}, all acknowledged work is done exactly once`,
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
        expect({ wrong, crashes: service.crashes, ticks: ticks.length }).toEqual({
          wrong: [],
          crashes: [],
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
