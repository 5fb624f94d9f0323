import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { describeWithOpenssl, makeCertificates, present, type Certificates } from "../support/certificates.js";
import { compiled } from "../support/compiled.js";
import { startOwnPostgres, type OwnPostgres } from "../support/own-postgres.js";
import type { Service } from "../support/programs.js";
import type { Shop } from "../support/shop.js";
import { until } from "../support/until.js";

const OLD = "old-password";
const NEW = "new-password";

describeWithOpenssl("a running service", () => {
  let postgres: OwnPostgres;
  let certificates: Certificates;
  let service: Service;
  let shop: Shop;
  let programs: typeof import("../support/programs.js");
  let modules: typeof import("../support/shop.js");

  beforeAll(async () => {
    [postgres, certificates] = await Promise.all([startOwnPostgres(), makeCertificates()]);
    await present(postgres.ask, certificates.right);
    await postgres.ask(`create role service superuser login password '${OLD}'`);
    const address = Object.assign(new URL(postgres.url), { username: "service", password: OLD });
    address.search = new URLSearchParams({ sslmode: "verify-full", sslrootcert: certificates.authority }).toString();
    process.env["DATABASE_URL"] = address.href;
    await promisify(execFile)(process.execPath, [compiled("scripts/migrate.ts")], { env: process.env });
    programs = await import("../support/programs.js");
    modules = await import("../support/shop.js");
    service = await programs.prepareService();
    await Promise.all([service.api.start(), service.workers[0].start()]);
    shop = await modules.openShop(service.client);
  });

  afterAll(async () => {
    await service.stop();
    await (await import("../../sql/db.js")).closeDatabase();
    await postgres.stop();
  });

  test.each([
    {
      what: "the password of its role is changed",
      refuse: () => postgres.ask(`alter role service password '${NEW}'`),
      mend: () => postgres.ask(`alter role service password '${OLD}'`),
      words: /password authentication failed/,
    },
    {
      what: "its role may not log in any more",
      refuse: () => postgres.ask("alter role service nologin"),
      mend: () => postgres.ask("alter role service login"),
      words: /is not permitted to log in/,
    },
    {
      what: "the certificate of Postgres expires",
      refuse: () => present(postgres.ask, certificates.expired),
      mend: () => present(postgres.ask, certificates.right),
      words: /certificate has expired/,
    },
  ])("says so when $what, answers 503, and loses nothing", async ({ refuse, mend, words }) => {
    const { api, workers, client } = service;
    const heard = [api, workers[0]].map(({ lines }) => lines.length);
    const orderIds = await modules.orderRolls(shop, 10);
    await refuse();
    await postgres.ask("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'service'");
    const refused = await until(async () => {
      const { status } = await modules.orderRoll(shop);
      return status !== 201 && status;
    });
    expect([refused, (await client.get("/api/v1/boxes")).status]).toEqual([503, 503]);
    await until(async () => (await fetch(`${client.url}/readyz`)).status === 503);
    for (const [place, { lines }] of [api, workers[0]].entries())
      await until(() => lines.slice(heard[place]).some(({ error }) => words.test(String(error))));
    await mend();
    await until(() => programs.isReady(client.url));
    orderIds.push(...(await modules.orderRolls(shop, 3)));
    await modules.waitForNotifications(shop, orderIds);
    for (const { id } of await modules.listNotifications(orderIds)) expect(programs.countSends(workers, id)).toBe(1);
    expect(JSON.stringify([api.lines, workers[0].lines])).not.toMatch(new RegExp(`${OLD}|${NEW}`));
    expect(service.crashes).toEqual([]);
  });
});
