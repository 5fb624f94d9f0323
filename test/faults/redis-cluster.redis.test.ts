import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { startRedisCluster } from "../support/redis-groups.js";
import type { Program } from "../support/programs.js";
import { describeWithRedis, notLoaded, redisAvailable } from "../support/redis.js";
import { faultsOfCluster, QUEUE } from "../support/storm/cluster-faults.js";
import { until } from "../support/until.js";

const ORDERS = 20;

if (redisAvailable) await withRedis();
else describeWithRedis("faults of Redis Cluster", notLoaded);

async function withRedis(): Promise<void> {
  const cluster = await startRedisCluster();
  const { closeDatabase } = await import("../../sql/db.js");
  const { countSends, prepareService } = await import("../support/programs.js");
  const { countSent, listNotifications, openShop, orderRolls, waitForNotifications } =
    await import("../support/shop.js");

  describeWithRedis("while a fault strikes Redis Cluster", () => {
    let service: Awaited<ReturnType<typeof prepareService>>;
    let shop: Awaited<ReturnType<typeof openShop>>;

    beforeAll(async () => {
      service = await prepareService({ REDIS_URL: cluster.url });
      await service.start();
    });

    beforeEach(async () => {
      shop = await openShop(service.client);
    });

    afterAll(async () => {
      await service.stop();
      await cluster.stop();
      await closeDatabase();
    });

    afterEach(() => {
      expect(service.crashes).toEqual([]);
    });

    test.each(faultsOfCluster(cluster))("$name: each order has its effects once", async (fault) => {
      const orderIds = await orderRolls(shop, ORDERS);
      const meanwhile = { over: false };
      const struck = fault.strike().finally(() => (meanwhile.over = true));
      do {
        const last = await orderRolls(shop, ORDERS);
        orderIds.push(...last);
        // not faster than they can be worked off afterwards
        await until(async () => meanwhile.over || (await countSent(last)) > 0);
      } while (!meanwhile.over);
      await struck;
      await waitForNotifications(shop, orderIds);
      for (const { id } of await listNotifications(orderIds)) expect(countSends(service.workers, id)).toBe(1);
    });

    test("as long as the node of one queue does not answer, jobs of other queues run", async () => {
      await cluster.configure("cluster-node-timeout", "600000");
      const master = await cluster.masterOf(QUEUE);
      const heard = service.workers.map(({ lines }) => lines.length);
      const hasFailed = ({ lines }: Program, place: number) =>
        lines.slice(heard[place]).some(({ msg }) => msg.startsWith("the relay cannot hand jobs over"));
      master.freeze();
      const orderIds: string[] = [];
      await until(async () => {
        orderIds.push(...(await orderRolls(shop, 1)));
        return service.workers.every(hasFailed);
      });
      const last = await orderRolls(shop, 1);
      await until(async () => (await listNotifications(last)).length === 2);
      expect(await countSent(last)).toBe(0);
      master.thaw();
      await waitForNotifications(shop, [...orderIds, ...last]);
    });
  });
}
