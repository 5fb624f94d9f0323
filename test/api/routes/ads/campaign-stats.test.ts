import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { config } from "../../../../lib/process/config.js";
import { addDays, dayOf } from "../../../../lib/domain/days.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { insertAdBatch } from "../../../../sql/queries/ad-batches.js";
import { runAdJobs } from "../../../support/ad-jobs.js";
import { startApi, type Client, type Reply } from "../../../support/api.js";
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

const outcome = ({ status, body }: Reply) => `${status} ${typeof body["code"] === "string" ? body["code"] : ""}`.trim();
const stats = (query = "", headers: Record<string, string> = {}) =>
  admin.get(`/api/v1/admin/ads/campaigns/${campaignId}/stats${query}`, { headers });

async function count(day: string, impressions: number, clicks: number, of = bannerId): Promise<void> {
  await insertAdBatch(sql, { id: randomUUID(), day, counts: [{ bannerId: of, impressions, clicks }] });
  await runAdJobs();
}

test("shows every day that was asked for, with what was counted of all the campaign's banners and charged", async () => {
  const second = await cast.banner(admin, campaignId);
  const stranger = await cast.banner(admin, await cast.activeCampaign(admin, { cpm: 1 }));
  await count("2028-02-27", 7, 7);
  await count("2028-02-28", 1_000, 3);
  await count("2028-02-28", 500, 1, second);
  await count("2028-03-01", 1, 0);
  await count("2028-02-29", 9, 9, stranger);
  await admin.delete(`/api/v1/admin/ads/campaigns/${campaignId}/banners/${second}`);
  expect((await stats("?from=2028-02-28&to=2028-03-02")).list).toEqual([
    { day: "2028-02-28", impressions: 1_500, clicks: 4, spent: 2.25 },
    { day: "2028-02-29", impressions: 0, clicks: 0, spent: 0 },
    { day: "2028-03-01", impressions: 1, clicks: 0, spent: 0 },
    { day: "2028-03-02", impressions: 0, clicks: 0, spent: 0 },
  ]);
});

test("without days, the last thirty as they are in the deployment's zone", async () => {
  const days = async (query: string) => (await stats(query)).list.map(({ day }) => day);
  const today = dayOf(Date.now(), config.DEFAULT_TIMEZONE);
  const last = await days("");
  expect([today, dayOf(Date.now(), config.DEFAULT_TIMEZONE)]).toContain(last.at(-1));
  expect([last.length, last[0]]).toEqual([30, addDays(String(last.at(-1)), -29)]);
  expect(await days("?to=2026-03-30")).toMatchObject({ length: 30, 0: "2026-03-01", 29: "2026-03-30" });
  expect((await days(`?from=${today}`))[0]).toBe(today);
});

test("as CSV for who wants that", async () => {
  await count("2026-06-01", 1_000, 2);
  const csv = await stats("?from=2026-06-01&to=2026-06-02", { accept: "text/csv" });
  expect(csv.text).toBe("day,impressions,clicks,spent\r\n2026-06-01,1000,2,1.5\r\n2026-06-02,0,0,0\r\n");
});

test.each([
  ["a day that is none", "?from=2026-02-30"],
  ["no day at all", "?to=null"],
  ["neither a day", "?from=&to=today"],
  ["an instant", "?to=2026-02-03T00:00:00Z"],
  ["a day long ago", "?from=1999-12-31"],
  ["a day far away", "?to=9999-12-31"],
  ["the last before the first", "?from=2026-06-02&to=2026-06-01"],
  ["more than a leap year", "?from=2024-01-01&to=2025-01-01"],
  ["a first day to come", "?from=2199-01-01"],
])("%s: 400 BAD_REQUEST", async (_case, query) => {
  expect(outcome(await stats(query))).toBe("400 BAD_REQUEST");
});

test("a leap year is one answer", async () => {
  expect((await stats("?from=2024-01-01&to=2024-12-31")).list).toHaveLength(366);
});

test("of a campaign that nobody knows: 404 NOT_FOUND", async () => {
  campaignId = randomUUID();
  expect(outcome(await stats())).toBe("404 NOT_FOUND");
});
