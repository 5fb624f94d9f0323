import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { freePort } from "../../scripts/free-port.js";
import { fanOut } from "../../queues/fan-out.js";
import { compiled } from "../support/compiled.js";
import { describeWithPgDump, startInstalledPostgres, type InstalledPostgres } from "../support/installed-postgres.js";
import type { Service } from "../support/programs.js";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";
import type { Shop } from "../support/shop.js";
import { until } from "../support/until.js";

const describeFailover = () =>
  describeWithPgDump("a service whose standby had not received the last commits of its primary", () => {
    let redis: Awaited<ReturnType<typeof startRedis>>;
    let primary: InstalledPostgres;
    let standby: InstalledPostgres;
    let service: Service;
    let shop: Shop;
    let modules: typeof import("../support/shop.js");

    beforeAll(async () => {
      [redis, primary] = await Promise.all([startRedis(), startInstalledPostgres()]);
      const port = await freePort();
      process.env["REDIS_URL"] = redis.url;
      process.env["DATABASE_URL"] = primary.url.replace(/@[^/]+/, `$&,127.0.0.1:${port}`);
      await promisify(execFile)(process.execPath, [compiled("scripts/migrate.ts")], { env: process.env });
      standby = await primary.copy(port);
      await primary.ask("alter system set synchronous_standby_names = ''");
      await primary.ask("select pg_reload_conf()");
      const { prepareService } = await import("../support/programs.js");
      modules = await import("../support/shop.js");
      service = await prepareService();
      await Promise.all([service.api.start(), service.workers[0].start()]);
      shop = await modules.openShop(service.client);
    });

    afterAll(async () => {
      await service.stop();
      const [{ closeDatabase }, { closeBroker }] = await Promise.all([
        import("../../sql/db.js"),
        import("../../queues/broker.js"),
      ]);
      await Promise.all([closeDatabase(), closeBroker()]);
      await Promise.all([primary.stop(), standby.stop(), redis.stop()]);
    });

    test("loses the orders of these commits with their notifications, and no others", async () => {
      const { openQueue } = await import("../../queues/broker.js");
      const queue = openQueue(fanOut);
      const kept = await modules.orderRolls(shop, 5);
      await modules.waitForNotifications(shop, kept);
      const [{ place } = { place: "" }] = await primary.ask<{ place: string }>(
        "select pg_current_wal_lsn()::text as place",
      );
      await until(async () => (await standby.ask(`select where pg_last_wal_replay_lsn() >= '${place}'`)).length > 0);

      await standby.ask("alter system set primary_conninfo = ''");
      await standby.ask("select pg_reload_conf()");
      await until(async () => (await standby.ask("select from pg_stat_wal_receiver")).length === 0);
      await queue.pause();
      const lost = await modules.orderRolls(shop, 5);
      await until(async () => (await queue.getWaitingCount()) === lost.length);
      const lostJobs = await primary.ask<{ id: string }>(
        "select id::text from staged_jobs where queue = 'fan-out' and done_at is null",
      );
      await primary.kill();
      await standby.promote();
      // a standby counts on a little later than the primary did; when more than that was lost, the ids come again
      await standby.ask(
        "select setval(pg_get_serial_sequence('staged_jobs', 'id'), (select max(id) from staged_jobs))",
      );

      const next = await until(async () => {
        const reply = await modules.orderRoll(shop).catch(() => undefined);
        return reply?.status === 201 ? reply.string("orderId") : undefined;
      });
      await queue.resume();
      await modules.waitForNotifications(shop, [next]);
      for (const id of lost) expect((await shop.customer.client.get(`/api/v1/orders/${id}`)).status).toBe(404);
      for (const id of [...kept, next])
        expect((await shop.customer.client.get(`/api/v1/orders/${id}`)).status).toBe(200);
      await until(async () => {
        const counts = await queue.getJobCounts("waiting", "active", "delayed", "failed");
        return Object.values(counts).every((count) => count === 0);
      });
      const rows = await standby.ask<{ id: string }>("select id::text from staged_jobs");
      const lostIds = lostJobs.map(({ id }) => id);
      const again = lostIds.filter((id) => rows.some((row) => row.id === id));
      const dropped = service.workers[0].lines
        .filter(({ msg }) => msg === "a job was dropped, as its row is gone")
        .map(({ jobId }) => String(jobId).replace(/\..*/, ""));
      // a job whose id came again before it ran is of an earlier generation, which changes nothing
      expect(again).not.toEqual([]);
      expect(lostIds).toEqual(expect.arrayContaining(dropped));
      expect(dropped).toEqual(expect.arrayContaining(lostIds.filter((id) => !again.includes(id))));
      expect(lostIds).toHaveLength(lost.length);
      expect(service.crashes).toEqual([]);
    });
  });

if (redisAvailable) describeFailover();
else describeWithRedis("a failover with BullMQ on Redis", notLoaded);
