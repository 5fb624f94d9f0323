import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Client } from "../../../support/api.js";
import { stopTheClock } from "../../../support/clock.js";

process.env["RATE_LIMIT_BANNERS"] = "5";
process.env["RATE_LIMIT_ADDRESS"] = "8";
process.env["TRUST_PROXY"] = "1";

const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { closeDatabase } = await import("../../../../sql/db.js");

let api: Awaited<ReturnType<typeof startApi>>;

const startMinute = stopTheClock();

beforeAll(async () => {
  api = await startApi();
});

beforeEach(startMinute);

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const get = (path: string, address: string, as: Client) => as.get(path, { headers: { "x-forwarded-for": address } });
const banners = (address: string, as = api.client, query = "placement=home") =>
  get(`/api/v1/ads/banners?${query}`, address, as);

test("banner requests are limited per address, for any caller: 429 RATE_LIMIT until the minute ends", async () => {
  const anna = await cast.user(api.client);
  const address = "203.0.113.1";
  expect(outcome(await banners(address))).toBe("200");
  expect(outcome(await banners(address, anna.client))).toBe("200");
  expect(outcome(await banners(address, api.client, ""))).toBe("400 BAD_REQUEST");
  expect(outcome(await banners(address, api.client.as("x.y.z")))).toBe("401 UNAUTHORIZED");
  const last = await banners(address);
  expect(last.headers.get("ratelimit-policy")).toBe("5;w=60");
  for (const as of [api.client, anna.client]) {
    const refused = await banners(address, as);
    expect(outcome(refused)).toBe("429 RATE_LIMIT");
    expect(refused.headers.get("retry-after")).toBe("40");
    expect(refused.headers.get("ratelimit")).toBe("limit=5, remaining=0, reset=40");
  }
  expect(outcome(await banners("203.0.113.2"))).toBe("200");
  startMinute();
  expect(outcome(await banners(address))).toBe("200");
});

test("banner requests and other requests are limited independently", async () => {
  const address = "203.0.113.3";
  for (let n = 0; n < 6; n += 1) await banners(address);
  const box = () => get("/api/v1/boxes/7", address, api.client);
  expect((await box()).headers.get("ratelimit")).toBe("limit=8, remaining=7, reset=40");
  startMinute();
  for (let n = 0; n < 9; n += 1) await box();
  expect(outcome(await box())).toBe("429 RATE_LIMIT");
  expect(outcome(await banners(address))).toBe("200");
});
