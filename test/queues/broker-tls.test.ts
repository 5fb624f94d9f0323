import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { readRedisUrl } from "../../lib/process/redis-address.js";
import { describeWithOpenssl, makeCertificates, type Certificates } from "../support/certificates.js";
import { redisAvailable, describeWithRedis, startRedis, type TestRedis } from "../support/redis.js";

const kinds = ["right", "expired", "otherHost", "otherAuthority"] as const;
type Kind = (typeof kinds)[number];
type Outcome = "accepted" | "refused";

const servers = new Map<Kind, TestRedis>();
let certificates: Certificates;

beforeAll(async () => {
  if (!redisAvailable) return;
  certificates = await makeCertificates();
  for (const kind of kinds) servers.set(kind, await startRedis(certificates[kind]));
});
afterAll(() => Promise.all([...servers.values()].map((server) => server.stop())));

const addressOf = (kind: Kind, parameters: string) =>
  `${servers.get(kind)?.url ?? ""}?${parameters.replace("{ca}", encodeURIComponent(certificates.authority))}`;

async function connect(address: string): Promise<Outcome> {
  const { hosts, tls } = readRedisUrl(address);
  const client = new Redis({ ...hosts[0], ...(tls && { tls }), lazyConnect: true, retryStrategy: null });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return "accepted";
  } catch {
    return "refused";
  } finally {
    client.disconnect();
  }
}

const all = { right: "accepted", expired: "accepted", otherHost: "accepted", otherAuthority: "accepted" } as const;
const chain = { ...all, expired: "refused", otherAuthority: "refused" } as const;
const full = { ...chain, otherHost: "refused" } as const;

describeWithRedis("Redis over TLS", () => {
  describeWithOpenssl("is checked as Postgres is, and fully without sslmode:", () => {
    test.each<[string, Record<Kind, Outcome>]>([
      ["", { ...full, right: "refused" }],
      ["sslrootcert={ca}", full],
      ["sslmode=verify-full&sslrootcert={ca}", full],
      ["sslmode=verify-ca&sslrootcert={ca}", chain],
      ["sslmode=require", all],
      ["sslmode=no-verify", all],
    ])("%s", async (parameters, expected) => {
      for (const kind of kinds)
        expect([kind, await connect(addressOf(kind, parameters))]).toEqual([kind, expected[kind]]);
    });

    test("by BullMQ's workers too", async () => {
      process.env["REDIS_URL"] = addressOf("right", "sslrootcert={ca}");
      const { closeBroker, openWorker, pingBroker } = await import("../../queues/broker.js");
      const { sms } = await import("../../queues/sms.js");
      const { signal } = new AbortController();
      const worker = await openWorker(sms, () => Promise.resolve(), { concurrency: 1, signal });
      await pingBroker();
      await worker.close();
      await closeBroker();
    });
  });
});
