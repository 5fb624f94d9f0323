import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Client } from "../../../support/api.js";
import { stopTheClock } from "../../../support/clock.js";
import { until } from "../../../support/until.js";

process.env["AD_EVENTS_PER_MINUTE"] = "3";
process.env["AD_EVENTS_PER_DAY"] = "5";
process.env["TRUST_PROXY"] = "1";

const { adCounters } = await import("../../../../api/routes/ads/counters.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { closeSignals } = await import("../../../../sql/signals.js");
const { runAdJobs } = await import("../../../support/ad-jobs.js");
const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");

let api: Awaited<ReturnType<typeof startApi>>;
let admin: Client;
let placement = "";
let tests = 0;

const startMinute = stopTheClock();

beforeAll(async () => {
  api = await startApi();
  admin = (await cast.admin(api.client)).client;
});

/** Each test uses its own placement and addresses. */
beforeEach(() => {
  startMinute();
  placement = `traffic-${(tests += 1)}`;
});

afterAll(async () => {
  await api.stop();
  await adCounters.flush();
  await closeSignals();
  await closeDatabase();
});

const campaigns = "/api/v1/admin/ads/campaigns";
const show = (address: string, as = api.client, query = "") =>
  as.get(`/api/v1/ads/banners?placement=${placement}${query}`, { headers: { "x-forwarded-for": address } });

async function shownBanner(fields: Record<string, unknown> = {}) {
  const campaignId = await cast.activeCampaign(admin, { placements: [placement], ...fields });
  return { campaignId, bannerId: await cast.banner(admin, campaignId, { placement }) };
}

/** The sums of all days. */
async function stats(campaignId: string) {
  await adCounters.flush();
  await runAdJobs();
  const days = (await admin.get(`${campaigns}/${campaignId}/stats`)).list;
  const sum = (field: string) => days.reduce((total, day) => total + Number(day[field]), 0);
  return { impressions: sum("impressions"), invalidImpressions: sum("invalidImpressions"), spent: sum("spent") };
}

describe("impressions of a banner by one address", () => {
  test("are invalid traffic beyond a bound a minute: counted apart, and not charged", async () => {
    const { campaignId } = await shownBanner({ cpm: 1_000, budget: 10 });
    await Promise.all(Array.from({ length: 20 }, () => show("198.51.100.1")));
    expect(await stats(campaignId)).toEqual({ impressions: 3, invalidImpressions: 17, spent: 3 });
    const campaign = (await admin.get(`${campaigns}/${campaignId}`)).body;
    expect(campaign).toMatchObject({ impressions: 3, spent: 3, status: "ACTIVE" });
  });

  test("are invalid traffic beyond a bound a day, which invalid ones do not use up", async () => {
    const { campaignId } = await shownBanner();
    for (let minute = 0; minute < 4; minute += 1) {
      startMinute();
      for (let n = 0; n < 4; n += 1) await show("198.51.100.2");
    }
    expect(await stats(campaignId)).toMatchObject({ impressions: 5, invalidImpressions: 11 });
    jest.setSystemTime(Date.now() + 86_400_000);
    expect((await show("198.51.100.2")).list).toHaveLength(1);
    await adCounters.flush();
    await runAdJobs();
    const [counted] = await sql<{ impressions: number }[]>`
      select impressions from ad_campaigns where id = ${campaignId}::uuid`;
    expect(counted).toEqual({ impressions: 6 });
  });

  test("have one bound, whatever locale and city are asked for, and in a whole IPv6 network", async () => {
    const { campaignId } = await shownBanner();
    for (const query of ["", "&locale=ru-RU", "&cityId=moscow", "&city=omsk"])
      for (const host of ["1", "2"]) await show(`2001:db8:7:1::${host}`, api.client, query);
    expect(await stats(campaignId)).toMatchObject({ impressions: 3, invalidImpressions: 5 });
  });

  test("do not affect those by users, by other addresses and with a service key", async () => {
    const { campaignId } = await shownBanner();
    const [anna, boris] = [await cast.user(api.client), await cast.user(api.client)];
    const made = await admin.post("/api/v1/admin/api-keys", { name: "app", scopes: ["ads:read"] });
    const address = "198.51.100.4";
    for (const [as, times] of [
      [api.client, 4],
      [anna.client, 4],
      [boris.client, 2],
      [api.client.as(made.string("key")), 10],
    ] as const)
      for (let n = 0; n < times; n += 1) expect(outcome(await show(address, as))).toBe("200");
    await show("198.51.100.5");
    expect(await stats(campaignId)).toMatchObject({ impressions: 3 + 3 + 2 + 10 + 1, invalidImpressions: 2 });
  });
});

test("clicks on a banner by one address are invalid traffic beyond the same bounds, and still redirect", async () => {
  const { campaignId, bannerId } = await shownBanner();
  const other = await cast.banner(admin, campaignId, { placement });
  const click = (id: string) =>
    api.client.get(`/api/v1/ads/banners/${id}/click`, { headers: { "x-forwarded-for": "198.51.100.6" } });
  for (let n = 0; n < 5; n += 1) expect((await click(bannerId)).status).toBe(302);
  await click(other);
  await adCounters.flush();
  await runAdJobs();
  expect((await admin.get(`${campaigns}/${campaignId}/stats`)).list.at(-1)).toMatchObject({
    clicks: 4,
    invalidClicks: 2,
  });
  expect((await admin.get(`${campaigns}/${campaignId}/banners/${bannerId}`)).body).toMatchObject({ clicks: 3 });
});

test("the counters that processes share contain no address and no user", async () => {
  await shownBanner();
  const anna = await cast.user(api.client);
  for (let n = 0; n < 4; n += 1) {
    await show("198.51.100.7");
    await show("198.51.100.8", anna.client);
  }
  const keys = async () => (await sql<{ key: string }[]>`select key from rate_counters`).map(({ key }) => key);
  await until(async () => (await keys()).length >= 4);
  for (const key of await keys()) expect(key).toMatch(/^[\w-]{43}$/);
});
