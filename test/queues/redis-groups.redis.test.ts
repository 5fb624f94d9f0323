import { afterAll, expect, test } from "@jest/globals";
import { z } from "zod";
import { describeWithOpenssl, makeCertificates } from "../support/certificates.js";
import { startRedisCluster, startRedisWatched } from "../support/redis-groups.js";
import { describeWithRedis, notLoaded, redisAvailable } from "../support/redis.js";

const code = "123456";
const Board = z.object({
  queues: z.array(z.object({ name: z.string(), counts: z.object({ completed: z.int() }) })),
});

if (redisAvailable) await withRedis();
else describeWithRedis("BullMQ on several servers of Redis", notLoaded);

async function withRedis(): Promise<void> {
  const { queueNames } = await import("../../lib/domain/queue-names.js");
  const { prefixOf } = await import("../../queues/redis-broker.js");
  const { closeDatabase } = await import("../../sql/db.js");
  const { admin } = await import("../support/cast.js");
  const { prepareService } = await import("../support/programs.js");
  const { runScript } = await import("../support/run-script.js");
  const { openShop, orderRolls, waitForNotifications } = await import("../support/shop.js");

  afterAll(() => closeDatabase());

  type Service = Awaited<ReturnType<typeof prepareService>>;

  /** Returns the queues that the dashboard shows, with their numbers of completed jobs. */
  async function lookAtBoard({ client }: Service): Promise<Map<string, number>> {
    const { phone } = await admin(client);
    const post = (path: string, form: Record<string, string>) =>
      fetch(`${client.url}/admin/queues${path}`, {
        method: "POST",
        redirect: "manual",
        headers: { origin: client.url },
        body: new URLSearchParams(form),
      });
    await post("/sign-in", { phone });
    const signedIn = await post("/sign-in/code", { phone, code });
    const [cookie = ""] = (signedIn.headers.get("set-cookie") ?? "").split(";");
    const answer = await fetch(`${client.url}/admin/queues/api/queues`, { headers: { cookie } });
    const { queues } = Board.parse(await answer.json());
    return new Map(queues.map(({ name, counts }) => [name, counts.completed]));
  }

  /** Starts the service with its queues there, looks whether jobs run and who sees them, calls `failOver`, and stops all. */
  async function testService(
    broker: { url: string; stop(): Promise<void> },
    found: string,
    failOver?: () => Promise<void>,
  ): Promise<void> {
    const service = await prepareService({ REDIS_URL: broker.url, OTP_FIXED_CODE: code });
    try {
      await service.start();
      const shop = await openShop(service.client);
      await waitForNotifications(shop, await orderRolls(shop, 3));
      const board = await lookAtBoard(service);
      expect([...board.keys()].toSorted()).toEqual([...queueNames].toSorted());
      expect(board.get("push")).toBe(6);
      const { output } = await runScript("check/main", [], { NODE_ENV: "development", REDIS_URL: broker.url });
      expect(output).toMatch(new RegExp(`^Queues +ok +${found}.*over TLS, maxmemory-policy noeviction$`, "m"));
      if (!failOver) return;
      const before = await orderRolls(shop, 3);
      await failOver();
      await waitForNotifications(shop, [...before, ...(await orderRolls(shop, 3))]);
    } finally {
      await service.stop();
      await broker.stop();
    }
    expect(service.crashes).toEqual([]);
  }

  describeWithOpenssl("over TLS with a client's certificate: jobs run, the dashboard shows every queue", () => {
    test("in a cluster whose nodes give their names, as their certificates are for these only", async () => {
      const { authority, otherHost } = await makeCertificates();
      const cluster = await startRedisCluster({ ...otherHost, authority });
      const masters = await Promise.all(queueNames.map((name) => cluster.masterOf(prefixOf(name))));
      // of three, so that the queues share what these carry
      expect(new Set(masters).size).toBe(3);
      await testService(cluster, "Redis Cluster of 6 servers, 7");
    });

    test("in a Redis that sentinels watch, also after a failover", async () => {
      const { authority, right } = await makeCertificates();
      const watched = await startRedisWatched({ ...right, authority });
      await testService(watched, "Redis 7", async () => {
        const before = await watched.master();
        await before.kill();
        await watched.master(before);
      });
    });
  });
}
