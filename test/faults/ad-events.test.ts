import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../sql/db.js";
import { runAdJobs } from "../support/ad-jobs.js";
import { startApi, Client } from "../support/api.js";
import * as cast from "../support/cast.js";
import { ended, startProcess } from "../support/processes.js";
import { prepareService, type Service } from "../support/programs.js";
import { freePort } from "../../scripts/free-port.js";
import { until } from "../support/until.js";

let here: Awaited<ReturnType<typeof startApi>>;
let admin: Client;
let service: Service;
let campaignId: string;
let placement = "";
let tests = 0;

beforeAll(async () => {
  here = await startApi();
  admin = (await cast.admin(here.client)).client;
  service = await prepareService();
});

afterEach(() => service.stop());

afterAll(async () => {
  await here.stop();
  await closeDatabase();
});

const read = async (id = campaignId) => (await admin.get(`/api/v1/admin/ads/campaigns/${id}`)).body;

/** Creates two banners in a new placement; each impression costs a thousandth of a major unit. */
async function twoBanners(fields: Record<string, unknown> = {}): Promise<string> {
  placement = `place-${(tests += 1)}`;
  campaignId = await cast.activeCampaign(admin, { placements: [placement], cpm: 1, ...fields });
  await cast.banner(admin, campaignId, { placement });
  return cast.banner(admin, campaignId, { placement });
}

/** Requests the banners this many times concurrently; returns how often both were shown. */
async function show(client: Client, times: number): Promise<number> {
  const asked = Array.from({ length: times }, () => client.get(`/api/v1/ads/banners?placement=${placement}`));
  const replies = await Promise.all(asked);
  return replies.filter(({ status, list }) => status === 200 && list.length === 2).length;
}

const countFlushed = async () =>
  (
    await sql<{ impressions: number }[]>`
      select coalesce(sum(count), 0)::integer as impressions from ad_batches, unnest(impressions) as count`
  )[0]?.impressions;

const noOpenJobs = async () =>
  (await sql`select from staged_jobs where queue = 'ad-events' and done_at is null`).length === 0;

test("every impression and click is counted once while connections are cut and workers are killed and suspended", async () => {
  const bannerId = await twoBanners();
  await service.start();
  let shown = 0;
  let clicks = 0;
  for (let round = 0; round < 12; round += 1) {
    shown += await show(service.client, 25);
    const followed = await service.client.get(`/api/v1/ads/banners/${bannerId}/click`);
    if (followed.status === 302) clicks += 1;
    const worker = service.workers[round % 2]!;
    if (round % 3 === 0) await worker.kill();
    else if (round % 3 === 1) worker.freeze();
    else await Promise.all(service.workers.map((each) => each.start()));
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name like 'surplus-food %'
        and state <> 'idle'`;
  }
  await Promise.all(service.workers.map((each) => each.kill()));
  await service.start();
  await until(async () => (await countFlushed()) === 2 * shown && (await noOpenJobs()));
  expect(shown).toBeGreaterThan(0);
  expect(await read()).toMatchObject({ impressions: 2 * shown, clicks, spent: Math.floor(shown / 5) / 100 });
});

test("an API that stops flushes its last counts", async () => {
  await twoBanners();
  const port = await freePort();
  const child = startProcess("server.ts", [], { HOST: "127.0.0.1", PORT: String(port), RATE_LIMIT_DISABLED: "1" });
  const client = new Client(`http://127.0.0.1:${port}`);
  await until(() =>
    fetch(`${client.url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  expect(await show(client, 40)).toBe(40);
  child.kill("SIGTERM");
  expect(await ended(child)).toEqual({ code: 0, signal: null });
  await runAdJobs();
  expect(await read()).toMatchObject({ impressions: 80 });
});

test("an API that is killed loses none of its flushed counts, and nothing is counted twice", async () => {
  await twoBanners();
  const before = (await countFlushed()) ?? 0;
  await service.api.start();
  expect(await show(service.client, 10)).toBe(10);
  await until(async () => ((await countFlushed()) ?? 0) > before);
  await service.api.kill();
  await service.api.start();
  const kept = ((await countFlushed()) ?? 0) - before;
  expect(await show(service.client, 10)).toBe(10);
  await until(async () => ((await countFlushed()) ?? 0) - before === kept + 20);
  await runAdJobs(2);
  expect(await read()).toMatchObject({ impressions: kept + 20 });
});
