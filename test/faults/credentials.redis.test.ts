import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { describeWithOpenssl, makeCertificates, type Certificate } from "../support/certificates.js";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";
import { until } from "../support/until.js";

const OLD = "old-password";
const NEW = "new-password";

if (redisAvailable)
  describeWithOpenssl("a running service whose queues are in Redis, over TLS with a password,", suite);
else describeWithRedis("a service that Redis refuses", notLoaded);

function suite(): void {
  let certificates: Awaited<ReturnType<typeof makeCertificates>>;
  let redis: Awaited<ReturnType<typeof startRedis>>;
  /** Keeps its session while the service's are refused. */
  let operator: Redis;
  let programs: typeof import("../support/programs.js");
  let modules: typeof import("../support/shop.js");
  let service: Awaited<ReturnType<(typeof programs)["prepareService"]>>;
  let shop: Awaited<ReturnType<(typeof modules)["openShop"]>>;

  beforeAll(async () => {
    certificates = await makeCertificates();
    redis = await startRedis(certificates.right, { requirepass: OLD });
    const address = Object.assign(new URL(redis.url), { password: OLD });
    address.search = new URLSearchParams({ sslrootcert: certificates.authority }).toString();
    process.env["REDIS_URL"] = address.href;
    operator = new Redis(redis.url, { password: OLD, tls: { rejectUnauthorized: false } });
    programs = await import("../support/programs.js");
    modules = await import("../support/shop.js");
    service = await programs.prepareService();
    await service.start();
    shop = await modules.openShop(service.client);
  });

  afterAll(async () => {
    await service.stop();
    operator.disconnect();
    await (await import("../../sql/db.js")).closeDatabase();
    await redis.stop();
  });

  async function present({ certificate, key }: Certificate): Promise<void> {
    const files = { "tls-cert-file": certificate, "tls-key-file": key };
    const words: string[] = [];
    for (const [name, pem] of Object.entries(files)) {
      const file = String((await operator.config("GET", name)).at(1));
      await writeFile(file, pem);
      words.push(name, file);
    }
    await operator.call("config", "set", ...words);
  }

  test.each([
    {
      what: "its password is changed",
      refuse: () => operator.config("SET", "requirepass", NEW),
      mend: () => operator.config("SET", "requirepass", OLD),
      words: /WRONGPASS/,
    },
    {
      what: "its certificate expires",
      refuse: () => present(certificates.expired),
      mend: () => present(certificates.right),
      words: /certificate has expired/,
    },
  ])("says so when $what, takes orders, and runs their jobs once it is mended", async ({ refuse, mend, words }) => {
    const { api, workers, client } = service;
    const heard = workers.map(({ lines }) => lines.length);
    const orderIds = await modules.orderRolls(shop, 10);
    await refuse();
    await operator.call("client", "kill", "type", "normal");
    await until(async () => {
      const text = await (await fetch(`${client.url}/readyz`)).text();
      return text.includes('"queue":"unreachable"') && text.includes('"status":"ready"');
    });
    orderIds.push(...(await modules.orderRolls(shop, 10)));
    for (const [place, { lines }] of workers.entries())
      await until(() => lines.slice(heard[place]).some(({ error }) => words.test(String(error))));
    await mend();
    await until(() => programs.isReady(client.url));
    await modules.waitForNotifications(shop, orderIds);
    for (const { id } of await modules.listNotifications(orderIds)) expect(programs.countSends(workers, id)).toBe(1);
    expect(JSON.stringify([api, ...workers].map(({ lines }) => lines))).not.toMatch(new RegExp(`${OLD}|${NEW}`));
    expect(service.crashes).toEqual([]);
  });
}
