import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { insertAdBatch, type AdCount } from "../../sql/queries/ad-batches.js";
import { findAdsChange } from "../../sql/queries/banners.js";
import { lockCampaign } from "../../sql/queries/campaigns.js";
import { countAds } from "../../workers/ad-events.js";
import { runAdJobs, validCount } from "../support/ad-jobs.js";
import { startApi, type Client } from "../support/api.js";
import * as cast from "../support/cast.js";
import { countBlocked } from "../support/locks.js";
import { sized } from "../support/size.js";
import { task } from "../support/task.js";
import { until } from "../support/until.js";

let api: Awaited<ReturnType<typeof startApi>>;
let admin: Client;

beforeAll(async () => {
  api = await startApi();
  admin = (await cast.admin(api.client)).client;
});

beforeEach(() => sql`truncate ad_batches, staged_jobs`);

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const campaigns = "/api/v1/admin/ads/campaigns";
const read = async (id: string) => (await admin.get(`${campaigns}/${id}`)).body;
const readBanner = async (campaignId: string, id: string) =>
  (await admin.get(`${campaigns}/${campaignId}/banners/${id}`)).body;

/** Inserts a batch with counts by banner: impressions, or impressions and clicks. */
async function batchOf(counted: Record<string, number | [number, number]>, day = "2026-06-01"): Promise<string> {
  const id = randomUUID();
  const counts = Object.entries(counted).map(([bannerId, count]): AdCount => {
    const [impressions, clicks] = typeof count === "number" ? [count, 0] : count;
    return validCount(bannerId, impressions, clicks);
  });
  await insertAdBatch(sql, { id, day, counts });
  return id;
}
const apply = async (batchId: string) => {
  const run = task({ batchId });
  await countAds(run);
  return run.lines;
};
const applyNew = async (...batch: Parameters<typeof batchOf>) => apply(await batchOf(...batch));

const daysOf = (campaignId: string) =>
  sql<{ day: string; impressions: number; clicks: number; spent: number }[]>`
    select day, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks, sum(spent_micro)::bigint as spent
    from ad_banner_days where campaign_id = ${campaignId}::uuid
    group by day order by day`;
const spentMicro = async (campaignId: string) =>
  (await sql<{ spent: number }[]>`select spent_micro as spent from ad_campaigns where id = ${campaignId}::uuid`)[0]
    ?.spent;

/** An active campaign with one banner. */
async function shownCampaign(fields: Record<string, unknown> = {}) {
  const campaignId = await cast.activeCampaign(admin, fields);
  return { campaignId, bannerId: await cast.banner(admin, campaignId) };
}

test("a batch is added to its banners, their days and their campaigns", async () => {
  const one = await shownCampaign();
  const other = await shownCampaign();
  const sibling = await cast.banner(admin, one.campaignId);
  await applyNew({ [one.bannerId]: [3, 1], [sibling]: 4, [other.bannerId]: [0, 2] }, "2026-06-01");
  await applyNew({ [one.bannerId]: 1 }, "2026-06-01");
  await applyNew({ [one.bannerId]: [10, 1] }, "2026-06-02");
  expect(await read(one.campaignId)).toMatchObject({ impressions: 18, clicks: 2, spent: 0, status: "ACTIVE" });
  expect(await read(other.campaignId)).toMatchObject({ impressions: 0, clicks: 2 });
  expect(await readBanner(one.campaignId, one.bannerId)).toMatchObject({ impressions: 14, clicks: 2 });
  expect(await readBanner(one.campaignId, sibling)).toMatchObject({ impressions: 4, clicks: 0 });
  expect(await daysOf(one.campaignId)).toEqual([
    { day: "2026-06-01", impressions: 8, clicks: 1, spent: 0 },
    { day: "2026-06-02", impressions: 10, clicks: 1, spent: 0 },
  ]);
});

test("invalid traffic is added to the days only, and costs nothing", async () => {
  const { campaignId, bannerId } = await shownCampaign({ cpm: 1_000, budget: 2 });
  const invalid = { invalidImpressions: 1_000, invalidClicks: 7 };
  for (let n = 0; n < 2; n += 1) {
    const id = randomUUID();
    await insertAdBatch(sql, { id, day: "2026-06-01", counts: [{ ...validCount(bannerId, n, 1), ...invalid }] });
    await apply(id);
  }
  expect(await read(campaignId)).toMatchObject({ impressions: 1, clicks: 2, spent: 1, status: "ACTIVE" });
  expect(await readBanner(campaignId, bannerId)).toMatchObject({ impressions: 1, clicks: 2 });
  const days = await sql<{ impressions: number; invalidImpressions: number; invalidClicks: number }[]>`
    select impressions, invalid_impressions, invalid_clicks from ad_banner_days where banner_id = ${bannerId}::uuid`;
  expect(days).toEqual([{ impressions: 1, invalidImpressions: 2_000, invalidClicks: 14 }]);
});

test("a batch is added once, however often and concurrently its job runs", async () => {
  const { campaignId, bannerId } = await shownCampaign({ cpm: 5 });
  await batchOf({ [bannerId]: [7, 2] });
  await batchOf({ [bannerId]: 1 });
  await runAdJobs(10);
  await runAdJobs();
  expect(await read(campaignId)).toMatchObject({ impressions: 8, clicks: 2, spent: 0.04 });
});

test("an unknown batch, or one of unknown banners, changes nothing", async () => {
  await expect(apply(randomUUID())).resolves.toEqual([]);
  await expect(applyNew({ [randomUUID()]: 5 })).resolves.toEqual([]);
  await expect(applyNew({})).resolves.toEqual([]);
});

describe("the cost of impressions", () => {
  test("is exact to a thousandth of the price per thousand", async () => {
    const { campaignId, bannerId } = await shownCampaign({ cpm: 0.01 });
    await applyNew({ [bannerId]: [999, 50] });
    expect([await spentMicro(campaignId), (await read(campaignId))["spent"]]).toEqual([9_990, 0]);
    await applyNew({ [bannerId]: 1 });
    expect([await spentMicro(campaignId), (await read(campaignId))["spent"]]).toEqual([10_000, 0.01]);
  });

  test.each([
    ["without a price", {}],
    ["with a price of 0", { cpm: 0 }],
    ["with a price and a budget of 0", { cpm: 0, budget: 0 }],
  ])("%s: impressions are counted and the campaign stays ACTIVE", async (_case, fields) => {
    const { campaignId, bannerId } = await shownCampaign(fields);
    await applyNew({ [bannerId]: 1_000_000 });
    expect(await read(campaignId)).toMatchObject({ impressions: 1_000_000, spent: 0, status: "ACTIVE" });
  });

  test("uses the price at the time of adding them up", async () => {
    const { campaignId, bannerId } = await shownCampaign({ cpm: 10 });
    await applyNew({ [bannerId]: 1_000 });
    await admin.put(`${campaigns}/${campaignId}`, { cpm: 20 });
    await applyNew({ [bannerId]: 1_000 });
    await admin.put(`${campaigns}/${campaignId}`, { cpm: null });
    await applyNew({ [bannerId]: 1_000 });
    expect(await read(campaignId)).toMatchObject({ spent: 30, impressions: 3_000 });
  });

  test("is charged to a campaign that has been paused, but not to a completed one", async () => {
    const [paused, complete] = [await shownCampaign({ cpm: 10 }), await shownCampaign({ cpm: 10 })];
    await admin.post(`${campaigns}/${paused.campaignId}/pause`);
    await admin.post(`${campaigns}/${complete.campaignId}/complete`);
    await applyNew({ [paused.bannerId]: 100, [complete.bannerId]: [100, 1] });
    expect(await read(paused.campaignId)).toMatchObject({ impressions: 100, spent: 1 });
    expect(await read(complete.campaignId)).toMatchObject({ impressions: 100, clicks: 1, spent: 0 });
  });
});

describe("a spent budget", () => {
  const audit = (id: string) =>
    sql`select actor_id, action, details from audit_events where subject_id = ${id}::uuid and action = 'CAMPAIGN_COMPLETE'`;

  test("completes the campaign, is audited and logged, and is never exceeded", async () => {
    const { campaignId, bannerId } = await shownCampaign({ cpm: 100, budget: 10 });
    const other = await shownCampaign({ cpm: 100, budget: 10 });
    const sibling = await cast.banner(admin, campaignId);
    expect(await applyNew({ [bannerId]: 99 })).toEqual([]);
    expect(await read(campaignId)).toMatchObject({ spent: 9.9, status: "ACTIVE" });
    const lines = await applyNew({ [bannerId]: 500, [sibling]: 70, [other.bannerId]: 99 });
    expect(lines).toMatchObject([{ campaignId, msg: "a campaign has spent its budget: it is complete" }]);
    expect(await read(campaignId)).toMatchObject({ impressions: 669, spent: 10, status: "COMPLETED" });
    expect(await read(other.campaignId)).toMatchObject({ impressions: 99, spent: 9.9, status: "ACTIVE" });
    expect(await audit(campaignId)).toMatchObject([
      { actorId: null, action: "CAMPAIGN_COMPLETE", details: { reason: "BUDGET_SPENT" } },
    ]);

    expect(await applyNew({ [bannerId]: [30, 1] })).toEqual([]);
    expect(await read(campaignId)).toMatchObject({ impressions: 699, clicks: 1, spent: 10, status: "COMPLETED" });
    expect(await audit(campaignId)).toHaveLength(1);
  });

  test("completes the campaign at exactly its last kopeck", async () => {
    const { campaignId, bannerId } = await shownCampaign({ cpm: 10, budget: 10 });
    await applyNew({ [bannerId]: 999 });
    expect(await read(campaignId)).toMatchObject({ spent: 9.99, status: "ACTIVE" });
    await applyNew({ [bannerId]: 1 });
    expect(await read(campaignId)).toMatchObject({ spent: 10, status: "COMPLETED" });
  });

  test("of 0 completes a campaign with a price at the first impression", async () => {
    const { campaignId, bannerId } = await shownCampaign({ cpm: 10, budget: 0 });
    await applyNew({ [bannerId]: [0, 1] });
    expect(await read(campaignId)).toMatchObject({ status: "ACTIVE" });
    await applyNew({ [bannerId]: 1 });
    expect(await read(campaignId)).toMatchObject({ spent: 0, status: "COMPLETED" });
  });

  test("updates the ads' last change, which counting alone does not", async () => {
    const { campaignId, bannerId } = await shownCampaign({ cpm: 100, budget: 10 });
    const changed = async () => (await findAdsChange(sql)).changedAt.getTime();
    const before = await changed();
    await applyNew({ [bannerId]: 99 });
    expect(await changed()).toBe(before);
    await applyNew({ [bannerId]: 1 });
    expect(await read(campaignId)).toMatchObject({ status: "COMPLETED" });
    expect(await changed()).toBeGreaterThan(before);
  });

  test("is compared with the new amount when an admin raises it concurrently", async () => {
    const { campaignId, bannerId } = await shownCampaign({ cpm: 100, budget: 10 });
    const batchId = await batchOf({ [bannerId]: 150 });
    let applied: Promise<unknown> = Promise.resolve();
    await transaction(async (tx) => {
      await lockCampaign(tx, campaignId);
      applied = apply(batchId);
      await until(async () => (await countBlocked()) === 1);
      await tx`update ad_campaigns set budget_minor = 2000 where id = ${campaignId}::uuid`;
    });
    await applied;
    expect(await read(campaignId)).toMatchObject({ spent: 15, status: "ACTIVE" });
  });
});

test("for any batches in any order, applied repeatedly and concurrently, the sums are exact to the millionth and no budget is exceeded", async () => {
  const campaign = fc.record({
    cpm: fc.oneof(
      fc.constant(null),
      fc.integer({ min: 0, max: 50_000 }).map((minor) => minor / 100),
    ),
    budget: fc.integer({ min: 0, max: 5_000 }).map((minor) => minor / 100),
    banners: fc.integer({ min: 1, max: 3 }),
  });
  const entry = fc.record({ banner: fc.nat(5), impressions: fc.nat(200), clicks: fc.nat(3) });
  const batch = fc.record({
    day: fc.constantFrom("2026-06-01", "2026-06-02"),
    entries: fc.uniqueArray(entry, { selector: ({ banner }) => banner, maxLength: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(campaign, { minLength: 1, maxLength: 2 }),
      fc.array(batch, { maxLength: 8 }),
      fc.integer({ min: 1, max: 3 }),
      async (shapes, batches, times) => {
        await sql`truncate ad_batches, staged_jobs`;
        const made: { id: string; cpm: number | null; budget: number }[] = [];
        const banners: { id: string; campaign: string }[] = [];
        for (const { cpm, budget, banners: many } of shapes) {
          const id = await cast.activeCampaign(admin, { budget, ...(cpm !== null && { cpm }) });
          made.push({ id, cpm, budget });
          for (let n = 0; n < many; n += 1) banners.push({ id: await cast.banner(admin, id), campaign: id });
        }
        const counted = batches.flatMap(({ day, entries }) =>
          entries.flatMap(({ banner, ...counts }) => {
            const known = banners[banner];
            return known ? [{ day, known, ...counts }] : [];
          }),
        );
        for (const { day, entries } of batches) {
          const known = entries.filter(({ banner }) => banner < banners.length);
          // each batch lists its banners in a different order
          await batchOf(
            Object.fromEntries(
              known.map(({ banner, impressions, clicks }) => [banners[banner]!.id, [impressions, clicks]]),
            ),
            day,
          );
        }
        await runAdJobs(times);
        const sum = (of: typeof counted, name: "impressions" | "clicks") => of.reduce((all, one) => all + one[name], 0);
        for (const { id, cpm, budget } of made) {
          const own = counted.filter(({ known }) => known.campaign === id);
          const cost = sum(own, "impressions") * Math.round((cpm ?? 0) * 100) * 10;
          const most = Math.round(budget * 100) * 10_000;
          expect(await read(id)).toMatchObject({
            impressions: sum(own, "impressions"),
            clicks: sum(own, "clicks"),
            status: cost > 0 && cost >= most ? "COMPLETED" : "ACTIVE",
          });
          expect(await spentMicro(id)).toBe(Math.min(cost, most));
          const days = await daysOf(id);
          expect(days.reduce((all, { spent }) => all + spent, 0)).toBe(Math.min(cost, most));
          for (const { day, impressions, clicks } of days) {
            const then = own.filter((one) => one.day === day);
            expect([impressions, clicks]).toEqual([sum(then, "impressions"), sum(then, "clicks")]);
          }
        }
        for (const { id, campaign } of banners) {
          const own = counted.filter(({ known }) => known.id === id);
          expect(await readBanner(campaign, id)).toMatchObject({
            impressions: sum(own, "impressions"),
            clicks: sum(own, "clicks"),
          });
        }
      },
    ),
    { numRuns: sized(40, 10) },
  );
});
