import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeEach, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { startProxy } from "../support/proxy.js";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";
import { until } from "../support/until.js";

if (redisAvailable) await withRedis();
else describeWithRedis("faults of Redis", notLoaded);

async function withRedis(): Promise<void> {
  const redis = await startRedis();
  const proxy = await startProxy(redis.url);
  process.env["REDIS_URL"] = proxy.url;
  const { closeBroker, openQueue, pingBroker } = await import("../../queues/broker.js");
  const { push, upkeep } = await import("../../queues/index.js");
  const { closeDatabase, sql } = await import("../../sql/db.js");
  const { findHeartbeatAge } = await import("../../sql/queries/heartbeats.js");
  const { stageJob } = await import("../../sql/outbox.js");
  const { closeSignals } = await import("../../sql/signals.js");
  const { startWorkers } = await import("../../workers/start.js");
  const { allDone, stagedRow } = await import("../support/trial.js");

  describeWithRedis("while Redis", () => {
    let workers: { stop(): Promise<void> };

    const stage = () => stageJob(sql, push, { notificationId: randomUUID() });
    const heartbeat = () => until(async () => (await findHeartbeatAge(sql, "canary")) !== undefined);

    // the workers are running before the fault
    beforeEach(async () => {
      workers = await startWorkers([]);
      const id = await stage();
      await until(() => stagedRow(id, ({ done }) => done));
    });

    afterEach(async () => {
      await workers.stop();
      await sql`truncate staged_jobs`;
    });

    afterAll(async () => {
      await Promise.all([closeBroker(), closeSignals()]);
      await closeDatabase();
      await proxy.close();
      await redis.stop();
    });

    test("is killed and restarted empty, staging continues, and then all jobs run and the schedules tick", async () => {
      await heartbeat();
      await redis.kill();
      await expect(pingBroker()).rejects.toThrow();
      const ids = await Promise.all(Array.from({ length: 20 }, stage));
      await sql`truncate heartbeats`;
      await redis.restart();
      await heartbeat();
      await allDone();
      for (const id of ids) expect(await stagedRow(id, ({ attempts }) => attempts === 1)).toBeDefined();
    });

    test("is down, workers can still be stopped", async () => {
      const leaving = await startWorkers([]);
      await allDone();
      await heartbeat();
      await redis.kill();
      await leaving.stop();
      await sql`truncate heartbeats`;
      await redis.restart();
      await heartbeat();
    });

    test("is frozen, staging continues, and all jobs run afterwards", async () => {
      await heartbeat();
      redis.freeze();
      const ids = await Promise.all(Array.from({ length: 20 }, stage));
      // by then the relay's calls have failed too
      await expect(pingBroker()).rejects.toThrow();
      redis.thaw();
      await allDone();
      expect(ids).toHaveLength(20);
    });

    test("is frozen for longer than a call may take, workers that start then begin afterwards", async () => {
      await workers.stop();
      redis.freeze();
      workers = await startWorkers([]);
      const id = await stage();
      for (let times = 0; times < 3; times += 1) await expect(pingBroker()).rejects.toThrow();
      redis.thaw();
      await until(() => stagedRow(id, ({ done }) => done));
    });

    test("has closed connections and the network does not tell, all jobs run and the schedules tick again", async () => {
      await heartbeat();
      proxy.halfClose();
      const ids = await Promise.all(Array.from({ length: 20 }, stage));
      await sql`truncate heartbeats`;
      await heartbeat();
      await allDone();
      expect(ids).toHaveLength(20);
    });

    test("has the jobs of a queue under another prefix only, they are handed over again and run once", async () => {
      await heartbeat();
      const queue = openQueue(push);
      await queue.pause();
      const ids = await Promise.all(Array.from({ length: 20 }, stage));
      await until(async () => (await queue.getWaitingCount()) === ids.length);
      // they are not handed over again for other reasons
      await sql`update staged_jobs set next_send_at = now() + interval '1 hour' where done_at is null`;
      const client = new Redis(redis.url);
      for (const key of await client.keys("{push}:*")) await client.rename(key, `old:${key}`);
      await allDone();
      for (const id of ids) expect(await stagedRow(id, ({ attempts }) => attempts === 1)).toBeDefined();
      const left = await client.keys("old:{push}:push:*.*");
      expect(ids.filter((id) => left.some((key) => key.startsWith(`old:{push}:push:${id}.`)))).toEqual(ids);
      client.disconnect();
    });

    test("is flushed with jobs waiting, all of them run and the schedules tick again", async () => {
      await heartbeat();
      await openQueue(push).pause();
      const ids = await Promise.all(Array.from({ length: 20 }, stage));
      await until(async () => (await openQueue(push).getWaitingCount()) === ids.length);
      const later = await stageJob(
        sql,
        push,
        { notificationId: randomUUID() },
        { runAt: new Date(Date.now() + 3_600_000) },
      );
      const client = new Redis(redis.url);
      await client.flushall();
      client.disconnect();
      await sql`truncate heartbeats`;
      await heartbeat();
      await sql`update staged_jobs set run_at = now(), next_send_at = now() where id = ${later}::bigint`;
      await allDone();
      expect(await openQueue(upkeep).getJobSchedulersCount()).toBeGreaterThan(0);
      expect(await stagedRow(later, ({ attempts }) => attempts === 1)).toBeDefined();
    });
  });
}
