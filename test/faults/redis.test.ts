import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";
import { until } from "../support/until.js";

const ORDERS = 30;

if (redisAvailable) await withRedis();
else describeWithRedis("the service while Redis fails", notLoaded);

async function withRedis(): Promise<void> {
  const redis = await startRedis();
  process.env["REDIS_URL"] = redis.url;
  const { closeBroker, openQueue } = await import("../../queues/broker.js");
  const { push } = await import("../../queues/index.js");
  const { closeDatabase, sql } = await import("../../sql/db.js");
  const { findHeartbeatAge } = await import("../../sql/queries/heartbeats.js");
  const { stageJob } = await import("../../sql/outbox.js");
  const { insertNotification, notificationStatus } = await import("../support/notifications.js");
  const { countBlocked, terminateBlocked, lockRows } = await import("../support/locks.js");
  const { countSends, prepareService } = await import("../support/programs.js");
  const { countSent, waitForNotifications, listNotifications, openShop, orderRolls } =
    await import("../support/shop.js");

  describeWithRedis("with Redis", () => {
    let service: Awaited<ReturnType<typeof prepareService>>;
    let shop: Awaited<ReturnType<typeof openShop>>;

    beforeAll(async () => {
      service = await prepareService();
      await service.start();
      shop = await openShop(service.client);
    });

    beforeEach(async () => {
      await sql`truncate staged_jobs`;
    });

    afterEach(() => {
      expect(service.crashes).toEqual([]);
    });

    afterAll(async () => {
      await service.stop();
      await closeBroker();
      await closeDatabase();
      await redis.stop();
    });

    const readiness = async () => (await fetch(`${service.client.url}/readyz`)).text();

    async function takesOrdersMeanwhile(): Promise<string[]> {
      await until(async () => (await readiness()).includes('"queue":"unreachable"'));
      expect(await readiness()).toContain('"status":"ready"');
      const orderIds = await orderRolls(shop, ORDERS);
      expect(await countSent(orderIds)).toBe(0);
      return orderIds;
    }

    test("suspended, orders are taken, and their jobs run once it resumes", async () => {
      redis.freeze();
      const orderIds = await takesOrdersMeanwhile();
      redis.thaw();
      await waitForNotifications(shop, orderIds);
    });

    test("killed, orders are taken, and their jobs run once it is restarted empty", async () => {
      await redis.kill();
      const orderIds = await takesOrdersMeanwhile();
      await redis.restart();
      await waitForNotifications(shop, orderIds);
    });

    test("down, an API that starts takes orders", async () => {
      await service.api.kill();
      await redis.kill();
      await service.api.start();
      const orderIds = await orderRolls(shop, ORDERS);
      await redis.restart();
      await waitForNotifications(shop, orderIds);
    });

    test("flushed with jobs waiting and delayed, each takes effect once, and the schedules tick again", async () => {
      const queue = openQueue(push);
      // one job waits in the broker for its next attempt
      const delayed = await insertNotification();
      const release = await lockRows((tx) => tx`select from notifications where id = ${delayed}::uuid for update`);
      await stageJob(sql, push, { notificationId: delayed });
      await until(async () => (await countBlocked()) === 1);
      await queue.pause();
      const orderIds = await orderRolls(shop, ORDERS);
      await until(async () => (await queue.getWaitingCount()) === 2 * ORDERS);
      await terminateBlocked();
      await until(async () => (await queue.getDelayedCount()) === 1);
      // and one waits in its row for its time
      const later = await insertNotification();
      await stageJob(sql, push, { notificationId: later }, { runAt: new Date(Date.now() + 3_000) });
      await release();

      const client = new Redis(redis.url);
      await client.flushall();
      client.disconnect();
      await sql`truncate heartbeats`;
      await until(async () => (await findHeartbeatAge(sql, "canary")) !== undefined);
      await waitForNotifications(shop, orderIds);
      for (const id of [delayed, later]) expect(await notificationStatus(id)).toMatchObject({ status: "SENT" });
      for (const id of [delayed, later, ...(await listNotifications(orderIds)).map(({ id }) => id)])
        expect(countSends(service.workers, id)).toBe(1);
    });
  });
}
