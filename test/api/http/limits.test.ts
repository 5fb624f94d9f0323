import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Client, Reply } from "../../support/api.js";
import type { Character } from "../../support/cast.js";
import { stopTheClock } from "../../support/clock.js";
import { until } from "../../support/until.js";

const limits = { user: 5, address: 8 };
process.env["RATE_LIMIT_USER"] = String(limits.user);
process.env["RATE_LIMIT_ADDRESS"] = String(limits.address);
process.env["TRUST_PROXY"] = "1";

const { outcome, startApi } = await import("../../support/api.js");
const { limitRequests } = await import("../../../api/http/limits.js");
const cast = await import("../../support/cast.js");
const { closeDatabase, sql } = await import("../../../sql/db.js");
const { log } = await import("../../../lib/process/log.js");
const { SharedCounters, storedKey } = await import("../../../api/http/shared-counters.js");

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;

const startMinute = stopTheClock();

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

beforeEach(startMinute);

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const repeat = async (times: number, ask: () => Promise<Reply>) => {
  const outcomes: string[] = [];
  for (let n = 0; n < times; n += 1) outcomes.push(outcome(await ask()));
  return outcomes;
};

const me = ({ client: as }: Character) => as.get("/api/v1/users/me");
const from =
  (address: string, as = client) =>
  () =>
    as.get("/api/v1/users/me", { headers: { "x-forwarded-for": address } });

describe("the rate limit of a user", () => {
  test("is sent with every answer, counts down, and then answers 429 RATE_LIMIT until the minute ends", async () => {
    const anna = await cast.user(client);
    for (let left = limits.user - 1; left >= 0; left -= 1) {
      const read = await me(anna);
      expect(read.status).toBe(200);
      expect(read.headers.get("ratelimit-policy")).toBe("5;w=60");
      expect(read.headers.get("ratelimit")).toBe(`limit=5, remaining=${left}, reset=40`);
    }
    const refused = await me(anna);
    expect(outcome(refused)).toBe("429 RATE_LIMIT");
    expect(refused.body["retryAfterSeconds"]).toBe(40);
    expect(refused.headers.get("retry-after")).toBe("40");
    expect(refused.headers.get("ratelimit")).toBe("limit=5, remaining=0, reset=40");
    startMinute();
    expect((await me(anna)).status).toBe(200);
  });

  test("is separate for each user, whatever address they call from", async () => {
    const anna = await cast.user(client);
    const boris = await cast.user(client);
    expect(await repeat(limits.user, from("203.0.113.1", anna.client))).toEqual(Array(limits.user).fill("200"));
    expect(outcome(await from("203.0.113.2", anna.client)())).toBe("429 RATE_LIMIT");
    expect(outcome(await from("203.0.113.1", boris.client)())).toBe("200");
    expect(outcome(await from("203.0.113.1")())).toBe("401 UNAUTHORIZED");
  });

  test("counts refused requests too: wrong roles, invalid bodies, unknown resources", async () => {
    const anna = await cast.user(client);
    expect(outcome(await anna.client.get("/api/v1/admin/partners"))).toBe("403 FORBIDDEN");
    expect(outcome(await anna.client.put("/api/v1/users/me", "{"))).toBe("400 BAD_REQUEST");
    expect(outcome(await anna.client.put("/api/v1/users/me", {}))).toBe("400 VALIDATION_ERROR");
    expect(outcome(await anna.client.get("/api/v1/orders/7"))).toBe("404 NOT_FOUND");
    expect((await me(anna)).headers.get("ratelimit")).toBe("limit=5, remaining=0, reset=40");
    for (const refused of [
      await anna.client.get("/api/v1/admin/partners"),
      await anna.client.put("/api/v1/users/me", "{"),
      await anna.client.get("/api/v1/orders/7"),
    ]) {
      expect(outcome(refused)).toBe("429 RATE_LIMIT");
    }
  });
});

describe("the rate limit of an address", () => {
  test("counts requests without a token, separately for each address", async () => {
    const ask = from("203.0.113.3");
    expect(await repeat(limits.address + 1, ask)).toEqual([
      ...Array<string>(limits.address).fill("401 UNAUTHORIZED"),
      "429 RATE_LIMIT",
    ]);
    expect(outcome(await from("203.0.113.4")())).toBe("401 UNAUTHORIZED");
  });

  test("counts requests with invalid tokens", async () => {
    const address = "203.0.113.5";
    expect(await repeat(limits.address, from(address, client.as("x.y.z")))).toEqual(
      Array(limits.address).fill("401 UNAUTHORIZED"),
    );
    expect(outcome(await from(address, client.as("z.y.x"))())).toBe("429 RATE_LIMIT");
    expect(outcome(await from(address)())).toBe("429 RATE_LIMIT");
    expect(outcome(await from(address, (await cast.user(client)).client)())).toBe("200");
  });

  test("applies to public endpoints even when the request has a token", async () => {
    const anna = await cast.user(client);
    const path = "/api/v1/partners/01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
    const headers = { "x-forwarded-for": "203.0.113.6" };
    expect(await repeat(limits.address + 1, () => anna.client.get(path, { headers }))).toEqual([
      ...Array<string>(limits.address).fill("404 NOT_FOUND"),
      "429 RATE_LIMIT",
    ]);
    expect((await me(anna)).headers.get("ratelimit")).toBe("limit=5, remaining=4, reset=40");
  });

  test("covers a whole IPv6 network", async () => {
    for (let host = 1; host <= limits.address; host += 1) await from(`2001:db8:1:2::${host}`)();
    expect(outcome(await from("2001:db8:1:2::ffff")())).toBe("429 RATE_LIMIT");
    expect(outcome(await from("2001:db8:ffff::1")())).toBe("401 UNAUTHORIZED");
  });
});

test("when there are more addresses than are counted, further ones share a counter, and no user shares it", async () => {
  const exchange = jest.spyOn(SharedCounters.prototype, "exchange").mockResolvedValue();
  const anna = await cast.user(client);
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  for (let n = 0; n < 100_000; n += 1)
    limitRequests({ ip: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` }, response, null);
  const further: string[] = [];
  for (let n = 0; n <= limits.address; n += 1) further.push(outcome(await from(`198.51.100.${n}`)()));
  expect(further).toEqual([...Array<string>(limits.address).fill("401 UNAUTHORIZED"), "429 RATE_LIMIT"]);
  expect((await me(anna)).headers.get("ratelimit")).toBe("limit=5, remaining=4, reset=40");
  exchange.mockRestore();
});

test("without access to the shared counts, each process counts alone, requests pass, and one warning is logged", async () => {
  const warn = jest.spyOn(log, "warn");
  const info = jest.spyOn(log, "info");
  const exchange = jest.spyOn(SharedCounters.prototype, "exchange");
  const anna = await cast.user(client);
  await sql`alter table rate_counters rename to rate_counters_away`;
  expect(await repeat(limits.user + 1, () => me(anna))).toEqual([
    ...Array<string>(limits.user).fill("200"),
    "429 RATE_LIMIT",
  ]);
  await until(() => exchange.mock.calls.length >= 3);
  expect(warn.mock.calls.map(([, line]) => line)).toEqual([
    "rate limits are counted by each process alone: Postgres is unreachable",
  ]);

  await sql`alter table rate_counters_away rename to rate_counters`;
  await until(() => info.mock.calls.some(([line]) => line === "rate limits are shared between processes again"));
  expect(warn).toHaveBeenCalledTimes(1);
  expect(await sql`select hits from rate_counters where key = ${storedKey(`user ${anna.id}`)}`).toMatchObject([
    { hits: limits.user + 1 },
  ]);
});
