import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startOwnPostgres, type OwnPostgres } from "../support/own-postgres.js";
import { randomFrom } from "../support/random.js";
import type { RedisCluster } from "../support/redis-groups.js";
import type { TestRedis } from "../support/redis.js";
import { sized } from "../support/size.js";
import { until } from "../support/until.js";

/** The faults of a run are chosen at random; `npm run faults` repeats all of them for some minutes. */
const { TEST_STORM_SECONDS, TEST_STORM_SEED } = process.env;
const durationMs = Number(TEST_STORM_SECONDS ?? 0) * 1_000;
const faultsOfRun = TEST_STORM_SECONDS === undefined ? sized(7, 5) : Infinity;

/**
 * How soon after the last fault an order must be acknowledged and fanned out: a connection that the network has forgotten is
 * noticed after 12 s, and its jobs are taken over within 15 s. When other tests run beside, it only must at some time.
 */
const RECOVERY_LIMIT_MS = TEST_STORM_SECONDS === undefined ? 300_000 : 30_000;
/** Failed jobs wait for their next attempt, and schedules for their next tick. After this time the report lists what is missing. */
const SETTLE_LIMIT_MS = 600_000;

const seed = Number(TEST_STORM_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Lets clients do all that they do while every fault happens, and compares their answers with the database. */
export function testStorm(broker: string, redis: TestRedis | RedisCluster | null, pooled: boolean): void {
  let postgres: OwnPostgres;
  const setting = `BullMQ on ${broker}${pooled ? " and a pooler" : ""}`;
  const say = (text: string) => process.stderr.write(`storm, ${setting}, TEST_STORM_SEED=${seed}: ${text}\n`);

  beforeAll(async () => {
    postgres = await startOwnPostgres();
    process.env["DATABASE_URL"] = postgres.url;
  });

  afterAll(() => postgres.stop());

  test(
    `under a storm of faults, with ${setting}, all acknowledged work is done exactly once`,
    async () => {
      const { closeDatabase } = await import("../../sql/db.js");
      const { check } = await import("../support/storm/check.js");
      const { sendWebhooksNow } = await import("../support/storm/check-webhooks.js");
      const { faultsOf, inflict } = await import("../support/storm/faults.js");
      const { prepareStormService } = await import("../support/storm/service.js");
      const { startStandIns } = await import("../support/storm/stand-ins.js");
      const { openJobs, startTraffic } = await import("../support/storm/traffic.js");

      const standIns = await startStandIns();
      const service = await prepareStormService(postgres.url, redis, standIns.env, pooled);
      const random = randomFrom(seed);
      const { ask } = postgres;
      try {
        await service.start();
        const clients = await startTraffic(service.client, standIns, ask, randomFrom(seed + 1));
        const all = faultsOf({ service, postgres, redis, standIns, random });
        const chosen = random.shuffle(all).slice(0, faultsOfRun);
        const faults = await clients.during(inflict(chosen, durationMs, random));

        const calm = new Date();
        // by a clock that stands still with a machine that is suspended, as its processes do
        const start = performance.now();
        const msSince = (): number => Math.round(performance.now() - start);
        const { orderId, seller } = await clients.placeOne();
        await until(async () => {
          const notifications = await ask("select from notifications where order_id = $1", [orderId]);
          return notifications.length === seller.peopleIds.length + 1 || msSince() > SETTLE_LIMIT_MS;
        });
        const recoveryMs = msSince();

        const journal = await clients.finish();
        await sendWebhooksNow(ask);
        const listTicks = () => ask("select from heartbeats where name = 'canary' and beat_at > $1", [calm]);
        await until(async () => {
          // an event that gets its position stages jobs
          const open = [...(await ask("select from new_events")), ...(await ask(`select ${openJobs}`))];
          return (open.length === 0 && (await listTicks()).length === 1) || msSince() > SETTLE_LIMIT_MS;
        });
        const settledMs = msSince();
        const ticks = (await listTicks()).length;
        const { wrong, counts } = await check({ ask, market: clients.market, journal, standIns });

        const report = { faults: faults.length, kinds: new Set(faults).size, ...counts, recoveryMs, settledMs };
        say(inspect(report, { breakLength: Infinity }));
        expect({ wrong, crashes: service.crashes, ticks }).toEqual({ wrong: [], crashes: [], ticks: 1 });
        expect(recoveryMs).toBeLessThanOrEqual(RECOVERY_LIMIT_MS);
        await service.start();
      } catch (error) {
        say("failed");
        throw error;
      } finally {
        await service.stop();
        await standIns.stop();
        await closeDatabase();
      }
    },
    durationMs + 1_200_000,
  );
}
