import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { freePort } from "../../scripts/free-port.js";
import { withTimeout } from "../../lib/process/with-timeout.js";
import { compiled } from "../support/compiled.js";
import { runScript } from "../support/run-script.js";
import { startInstalledPostgres, type InstalledPostgres } from "../support/installed-postgres.js";
import { keepsPrepared, startPgbouncer, type TestPooler } from "../support/pgbouncer.js";
import type { Service } from "../support/programs.js";
import type { Shop } from "../support/shop.js";
import { answerTo } from "../support/storm/journal.js";
import { until } from "../support/until.js";

/**
 * How soon after a promotion an order must be acknowledged again; the time that it took is printed. When other tests run beside, it
 * only must at some time.
 */
const RECOVERY_LIMIT_MS = process.env["TEST_STORM_SECONDS"] === undefined ? 300_000 : 5_000;
const CALLERS = 4;

/** Kills, stops and demotes the primary of a service that knows its standby, through a pooler in front of each when `pooled`. */
export function testStandby(pooled: boolean): void {
  const poolers: TestPooler[] = [];
  let primary: InstalledPostgres;
  let standby: InstalledPostgres;
  /** The address of both, in an order that never changes. */
  let servers: string;
  let service: Service;
  let shop: Shop;
  let modules: typeof import("../support/shop.js");
  /** The orders that were acknowledged. */
  const orders: string[] = [];
  let over = false;
  let callers: Promise<void>[] = [];

  beforeAll(async () => {
    primary = await startInstalledPostgres();
    const port = await freePort();
    const both = (url: string, other: number | string) =>
      url.replace(/@[^/]+/, `$&,127.0.0.1:${other}`) + "?target_session_attrs=read-write";
    servers = both(primary.url, port);
    Object.assign(process.env, { DATABASE_URL: servers, ORDERS_OPEN_MAX: "1000000" });
    if (pooled) {
      // so that a session that nobody uses ends soon
      const start = (at: number | string) =>
        startPgbouncer(Object.assign(new URL(primary.url), { port: at }).href, { idleSeconds: 1 });
      const [first, second] = [await start(new URL(primary.url).port), await start(port)];
      poolers.push(first, second);
      Object.assign(process.env, {
        DATABASE_URL: both(first.url, new URL(second.url).port),
        DATABASE_DIRECT_URL: servers,
        DATABASE_PREPARE: keepsPrepared ? "1" : "0",
        // of every process: sessions through the pooler begin with one timeout
        DATABASE_TIMEOUT_MS: "10000",
      });
    }
    await promisify(execFile)(process.execPath, [compiled("scripts/migrate.ts")], { env: process.env });
    standby = await primary.copy(port);
    const { prepareService } = await import("../support/programs.js");
    modules = await import("../support/shop.js");
    service = await prepareService();
    await Promise.all([service.api.start(), service.workers[0].start()]);
    // this process is busy with its modules, and may give up its first connection
    const { sql } = await import("../../sql/db.js");
    await until(() =>
      sql`select`.then(
        () => true,
        () => false,
      ),
    );
    shop = await modules.openShop(service.client);
    callers = Array.from({ length: CALLERS }, async () => {
      while (!over) {
        const reply = await answerTo(() => modules.orderRoll(shop));
        if (reply?.status === 201) orders.push(reply.string("orderId"));
        else await delay(50);
      }
    });
    await ordersGoOn();
  });

  afterAll(async () => {
    over = true;
    await Promise.all(callers);
    await service.stop();
    await (await import("../../sql/db.js")).closeDatabase();
    await Promise.all(poolers.map((pooler) => pooler.stop()));
    await Promise.all([primary.stop(), standby.stop()]);
  });

  const ordersGoOn = async () => {
    const before = orders.length;
    await until(() => orders.length >= before + 3 * CALLERS);
  };

  /** Promotes the standby; orders are taken again soon, and none that was acknowledged is lost. */
  async function takeOver(): Promise<void> {
    await standby.promote();
    const start = performance.now();
    [primary, standby] = [standby, primary];
    await withTimeout(RECOVERY_LIMIT_MS, ordersGoOn());
    process.stderr.write(`orders again after ${Math.round(performance.now() - start)} ms\n`);
    await nothingLost();
  }

  async function nothingLost(): Promise<void> {
    const acknowledged = [...orders];
    const kept = new Set((await primary.ask<{ id: string }>("select id from orders")).map(({ id }) => id));
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
  }

  /** Waits until no session of the service is left on the old primary; a look at its role is none. */
  const isLeftAlone = ({ ask }: InstalledPostgres) =>
    until(
      async () =>
        (
          await ask(`
            select from pg_stat_activity
            where application_name in ('bullmq') or application_name like 'surplus-food %' and application_name not like '% primary'`)
        ).length === 0,
    );

  /** Puts a new standby in the place of a server that is of no use any more. */
  async function replaceStandby(): Promise<void> {
    const port = Number(new URL(standby.url).port);
    await standby.stop();
    standby = await primary.copy(port);
  }

  /** What `npm run check` says of the primary and of the other. */
  const check = async () => {
    const { output } = await runScript("check/main");
    const rows = [...output.matchAll(/^Postgres servers +(ok|warning|FAILED) +\S+ (.+)$/gm)].map(
      ([, result, words]) => [result, words?.replace(/\d+/, "N")],
    );
    const isFirst = servers.includes(`@${new URL(primary.url).host}`);
    return isFirst ? rows : rows.toReversed();
  };

  test("is told by a check what each server is", async () => {
    expect(await check()).toEqual([
      ["ok", "is a primary, timeline N"],
      ["ok", "is a standby, or read-only"],
    ]);
  });

  test("does not acknowledge an order whose wait for the standby an operator ends", async () => {
    const thaw = await standby.freeze();
    try {
      let status: number | undefined;
      void modules.orderRoll(shop).then((reply) => (status = reply.status));
      await until(async () => {
        await primary.ask("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
        return status !== undefined;
      });
      expect(status).toBe(503);
    } finally {
      thaw();
    }
    await ordersGoOn();
  });

  test("continues with the standby when the primary is killed", async () => {
    await primary.kill();
    await takeOver();
    await replaceStandby();
  });

  test("continues with the standby when the primary is stopped, and never goes back when that continues", async () => {
    const thaw = await primary.freeze();
    try {
      await takeOver();
    } finally {
      thaw();
    }
    // from now on it would acknowledge what it is sent
    await standby.ask("alter system set synchronous_standby_names = ''");
    await standby.ask("select pg_reload_conf()");
    await isLeftAlone(standby);
    expect(await check()).toEqual([
      ["ok", "is a primary, timeline N"],
      ["FAILED", "is a primary, timeline N: stop it, as another was promoted"],
    ]);
    // a process that starts now meets two that may be written to
    await Promise.all([service.api.kill(), service.workers[0].kill()]);
    await Promise.all([service.api.start(), service.workers[0].start()]);
    await ordersGoOn();
    await isLeftAlone(standby);
    await nothingLost();
    await replaceStandby();
  });

  test("continues with the standby when the two change places, and asks nothing of the other", async () => {
    await primary.follow(standby, takeOver);
    await isLeftAlone(standby);
    await ordersGoOn();
    // the first address of a process that starts now is the standby's
    expect(servers.indexOf(new URL(standby.url).host)).toBeLessThan(servers.indexOf(new URL(primary.url).host));
    await Promise.all([service.api.kill(), service.workers[0].kill()]);
    await Promise.all([service.api.start(), service.workers[0].start()]);
    await ordersGoOn();
    await isLeftAlone(standby);
  });

  test("has done every job of every order in the end", async () => {
    over = true;
    await Promise.all(callers);
    await until(async () => (await modules.countSent(orders)) >= 2 * orders.length);
    await nothingLost();
    expect(service.crashes).toEqual([]);
  });
}
