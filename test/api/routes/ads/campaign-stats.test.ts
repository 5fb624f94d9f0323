import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { config } from "../../../../lib/process/config.js";
import { addDays, dayOf } from "../../../../lib/domain/days.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { insertAdBatch } from "../../../../sql/queries/ad-batches.js";
import { runAdJobs, validCount } from "../../../support/ad-jobs.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let admin: Client;
let campaignId: string;
let bannerId: string;

beforeAll(async () => {
  api = await startApi();
  admin = (await cast.admin(api.client)).client;
});

beforeEach(async () => {
  campaignId = await cast.activeCampaign(admin, { cpm: 1.5 });
  bannerId = await cast.banner(admin, campaignId);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const stats = (query = "", headers: Record<string, string> = {}) =>
  admin.get(`/api/v1/admin/ads/campaigns/${campaignId}/stats${query}`, { headers });

async function count(day: string, impressions: number, clicks: number, of = bannerId): Promise<void> {
  await insertAdBatch(sql, { id: randomUUID(), day, counts: [validCount(of, impressions, clicks)] });
  await runAdJobs();
}

const none = { invalidImpressions: 0, invalidClicks: 0 };

test("lists every requested day with the impressions, clicks and charges of all the campaign's banners", async () => {
  const second = await cast.banner(admin, campaignId);
  const stranger = await cast.banner(admin, await cast.activeCampaign(admin, { cpm: 1 }));
  await count("2028-02-27", 7, 7);
  await count("2028-02-28", 1_000, 3);
  await count("2028-02-28", 500, 1, second);
  await count("2028-03-01", 1, 0);
  await count("2028-02-29", 9, 9, stranger);
  await admin.delete(`/api/v1/admin/ads/campaigns/${campaignId}/banners/${second}`);
  expect((await stats("?from=2028-02-28&to=2028-03-02")).list).toEqual([
    { day: "2028-02-28", impressions: 1_500, clicks: 4, spent: 2.25, ...none },
    { day: "2028-02-29", impressions: 0, clicks: 0, spent: 0, ...none },
    { day: "2028-03-01", impressions: 1, clicks: 0, spent: 0, ...none },
    { day: "2028-03-02", impressions: 0, clicks: 0, spent: 0, ...none },
  ]);
});

test("covers the last thirty days in the deployment's zone by default", async () => {
  const days = async (query: string) => (await stats(query)).list.map(({ day }) => day);
  const today = dayOf(Date.now(), config.DEFAULT_TIMEZONE);
  const last = await days("");
  expect([today, dayOf(Date.now(), config.DEFAULT_TIMEZONE)]).toContain(last.at(-1));
  expect([last.length, last[0]]).toEqual([30, addDays(String(last.at(-1)), -29)]);
  expect(await days("?to=2026-03-30")).toMatchObject({ length: 30, 0: "2026-03-01", 29: "2026-03-30" });
  expect((await days(`?from=${today}`))[0]).toBe(today);
});

test("are available as CSV", async () => {
  await count("2026-06-01", 1_000, 2);
  const csv = await stats("?from=2026-06-01&to=2026-06-02", { accept: "text/csv" });
  expect(csv.text).toBe(
    "day,impressions,clicks,spent,invalidImpressions,invalidClicks\r\n2026-06-01,1000,2,1.5,0,0\r\n2026-06-02,0,0,0,0,0\r\n",
  );
});

test.each([
  ["a day that does not exist", "?from=2026-02-30"],
  ["no day at all", "?to=null"],
  ["two invalid days", "?from=&to=today"],
  ["an instant", "?to=2026-02-03T00:00:00Z"],
  ["a day too far in the past", "?from=1999-12-31"],
  ["a day too far in the future", "?to=9999-12-31"],
  ["a last day before the first", "?from=2026-06-02&to=2026-06-01"],
  ["more than 366 days", "?from=2024-01-01&to=2025-01-01"],
  ["a first day in the future", "?from=2199-01-01"],
])("%s: 400 BAD_REQUEST", async (_case, query) => {
  expect(outcome(await stats(query))).toBe("400 BAD_REQUEST");
});

test("a leap year fits in one answer", async () => {
  expect((await stats("?from=2024-01-01&to=2024-12-31")).list).toHaveLength(366);
});

test("of an unknown campaign: 404 NOT_FOUND", async () => {
  campaignId = randomUUID();
  expect(outcome(await stats())).toBe("404 NOT_FOUND");
});
