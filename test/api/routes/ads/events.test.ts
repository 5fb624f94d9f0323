import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { adCounters } from "../../../../api/routes/ads/counters.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { insertAdBatch } from "../../../../sql/queries/ad-batches.js";
import { closeSignals } from "../../../../sql/signals.js";
import { runAdJobs, validCount } from "../../../support/ad-jobs.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let admin: Client;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
  admin = (await cast.admin(client)).client;
});

/** Each test uses its own placement. */
let placement = "";
let tests = 0;

beforeEach(() => {
  placement = `place-${(tests += 1)}`;
});

afterAll(async () => {
  await api.stop();
  await adCounters.flush();
  await closeSignals();
  await closeDatabase();
});

const hour = 60 * 60 * 1_000;
const campaigns = "/api/v1/admin/ads/campaigns";
const show = (headers: Record<string, string> = {}, as = client) =>
  as.get(`/api/v1/ads/banners?placement=${placement}`, { headers });
const clickOf = (bannerId: string) => `/api/v1/ads/banners/${bannerId}/click`;
const click = (bannerId: string) => client.get(clickOf(bannerId));
const head = (path: string) => fetch(client.url + path, { method: "HEAD", redirect: "manual" });

async function shownBanner(fields: Record<string, unknown> = {}) {
  const campaignId = await cast.activeCampaign(admin, { placements: [placement], ...fields });
  return { campaignId, bannerId: await cast.banner(admin, campaignId, { placement }) };
}

const read = async (campaignId: string) => (await admin.get(`${campaigns}/${campaignId}`)).body;

/** Everything counted for a campaign so far, pending counts included. */
async function counted(campaignId: string) {
  await adCounters.flush();
  await runAdJobs();
  const { impressions, clicks } = await read(campaignId);
  return { impressions, clicks };
}

describe("an impression", () => {
  test("is counted for each banner of each answer, for any caller, also from the server's cache", async () => {
    const { campaignId, bannerId } = await shownBanner();
    const other = await cast.banner(admin, campaignId, { placement });
    for (const as of [client, client, (await cast.user(client)).client])
      expect((await show({}, as)).list).toHaveLength(2);
    expect(await counted(campaignId)).toEqual({ impressions: 6, clicks: 0 });
    const banners = (await admin.get(`${campaigns}/${campaignId}/banners`)).list;
    expect(banners.map(({ id, impressions }) => [id, impressions])).toEqual([
      [bannerId, 3],
      [other, 3],
    ]);
  });

  test("is not counted for a 304 or a HEAD request", async () => {
    const { campaignId } = await shownBanner();
    const shown = await show();
    const again = await show({ "if-modified-since": shown.headers.get("last-modified") ?? "" });
    const onlyHead = await head(`/api/v1/ads/banners?placement=${placement}`);
    expect([shown.status, again.status, onlyHead.status]).toEqual([200, 304, 200]);
    expect(await counted(campaignId)).toEqual({ impressions: 1, clicks: 0 });
    expect((await show({ "if-modified-since": "Mon, 01 Jun 2020 15:00:00 GMT" })).status).toBe(200);
    expect(await counted(campaignId)).toEqual({ impressions: 2, clicks: 0 });
  });

  test("is not counted for a refused request", async () => {
    const { campaignId } = await shownBanner();
    expect(outcome(await show({}, client.as("x.y.z")))).toBe("401 UNAUTHORIZED");
    expect(await counted(campaignId)).toEqual({ impressions: 0, clicks: 0 });
  });

  test("is charged, and completes the campaign when the budget is spent", async () => {
    const { campaignId } = await shownBanner({ cpm: 1_000, budget: 3 });
    await Promise.all(Array.from({ length: 5 }, () => show()));
    expect(await counted(campaignId)).toEqual({ impressions: 5, clicks: 0 });
    expect(await read(campaignId)).toMatchObject({ spent: 3, status: "COMPLETED" });
  });
});

describe("GET /ads/banners/{id}/click", () => {
  test("redirects to the banner's link and counts each click", async () => {
    const { campaignId, bannerId } = await shownBanner();
    for (const id of [bannerId, bannerId.toUpperCase()]) {
      const followed = await click(id);
      expect([followed.status, followed.text]).toEqual([302, ""]);
      expect(followed.headers.get("location")).toBe("https://example.com/summer");
      // otherwise browsers would not ask again
      expect(followed.headers.get("cache-control")).toBe("no-store");
    }
    expect((await head(clickOf(bannerId))).status).toBe(302);
    expect(await counted(campaignId)).toEqual({ impressions: 0, clicks: 2 });
    const banner = await admin.get(`${campaigns}/${campaignId}/banners/${bannerId}`);
    expect(banner.body).toMatchObject({ impressions: 0, clicks: 2 });
  });

  const [before, after] = [new Date(Date.now() - hour), new Date(Date.now() + hour)];
  test.each<[string, (campaignId: string, bannerId: string) => PromiseLike<unknown>]>([
    ["the campaign is paused", (id) => admin.post(`${campaigns}/${id}/pause`)],
    ["the campaign is completed", (id) => admin.post(`${campaigns}/${id}/complete`)],
    [
      "the campaign's period has not begun",
      (id) => sql`update ad_campaigns set starts_at = ${after} where id = ${id}::uuid`,
    ],
    ["the campaign's period is over", (id) => sql`update ad_campaigns set ends_at = ${before} where id = ${id}::uuid`],
    [
      "the banner's period has not begun",
      (_id, banner) => sql`update ad_banners set starts_at = ${after} where id = ${banner}::uuid`,
    ],
    [
      "the banner's period is over",
      (_id, banner) => sql`update ad_banners set ends_at = ${before} where id = ${banner}::uuid`,
    ],
  ])("redirects but does not count when %s", async (_case, change) => {
    const { campaignId, bannerId } = await shownBanner();
    await change(campaignId, bannerId);
    expect((await click(bannerId)).headers.get("location")).toBe("https://example.com/summer");
    expect(await counted(campaignId)).toEqual({ impressions: 0, clicks: 0 });
  });

  test("a banner that is unknown, deleted or in a draft: 404 NOT_FOUND", async () => {
    const { campaignId, bannerId } = await shownBanner();
    await admin.delete(`${campaigns}/${campaignId}/banners/${bannerId}`);
    const draft = await cast.banner(admin, await cast.campaign(admin));
    for (const id of [randomUUID(), "7", bannerId, draft]) expect(outcome(await click(id))).toBe("404 NOT_FOUND");
  });
});

test("a budget cannot be set to or below the amount spent: 409 CONFLICT", async () => {
  const { campaignId, bannerId } = await shownBanner({ cpm: 1_000, budget: 10 });
  await insertAdBatch(sql, {
    id: randomUUID(),
    day: "2026-06-01",
    counts: [validCount(bannerId, 5)],
  });
  await runAdJobs();
  const change = (fields: unknown) => admin.put(`${campaigns}/${campaignId}`, fields);
  for (const budget of [0, 4.99, 5]) expect(outcome(await change({ budget }))).toBe("409 CONFLICT");
  expect(outcome(await change({ name: "Осень" }))).toBe("200");
  expect((await change({ budget: 5.01 })).body).toMatchObject({ budget: 5.01, spent: 5, impressions: 5 });
});
