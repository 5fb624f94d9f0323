import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type * as Cast from "../support/cast.js";

const adminPhone = "+79990000001";
process.env["ADMIN_PHONES"] = adminPhone;

// these modules read the configuration
const { fanOut } = await import("../../queues/index.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { insertAdBatch } = await import("../../sql/queries/ad-batches.js");
const { closeSignals } = await import("../../sql/signals.js");
const { countAds } = await import("../../workers/ad-events.js");
const { fanOutEvent } = await import("../../workers/fan-out.js");
const { runUpkeep } = await import("../../workers/upkeep.js");
const { validCount } = await import("../support/ad-jobs.js");
const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { task } = await import("../support/task.js");

let api: Awaited<ReturnType<typeof startApi>>;
let olga: Cast.Character;
let pavel: Cast.Character;
let rita: Cast.Character;

beforeAll(async () => {
  api = await startApi();
});

beforeEach(async () => {
  await sql`truncate staged_jobs`;
  [olga, pavel, rita] = [await cast.admin(api.client), await cast.admin(api.client), await cast.admin(api.client)];
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

/** A campaign that Olga created and Pavel renamed. */
async function campaign(fields: Record<string, unknown> = {}): Promise<string> {
  const id = await cast.activeCampaign(olga.client, fields);
  await pavel.client.put(`/api/v1/admin/ads/campaigns/${id}`, { name: "Осень" });
  return id;
}

async function runEvents(): Promise<void> {
  const jobs = await sql<{ payload: unknown }[]>`select payload from staged_jobs where queue = 'fan-out' order by id`;
  for (const { payload } of jobs) await fanOutEvent(task(fanOut.payload.parse(payload)));
}
const texts = async ({ client }: Cast.Character) =>
  (await client.get("/api/v1/notifications")).list.map(({ kind, title, body }) => [kind, title, body]);
const completed = [["CAMPAIGN_COMPLETED", "Кампания завершена", "«Осень»: баннеры больше не показываются."]];

test("admins who changed a campaign are notified once that its budget is spent", async () => {
  const banner = await cast.banner(olga.client, await campaign({ cpm: 10, budget: 1 }));
  const counts = [validCount(banner, 100)];
  for (const id of [randomUUID(), randomUUID()]) {
    await insertAdBatch(sql, { id, day: "2026-06-01", counts });
    await countAds(task({ batchId: id }));
  }
  await runEvents();
  expect(await texts(olga)).toEqual(completed);
  expect(await texts(pavel)).toEqual(completed);
  expect(await texts(rita)).toEqual([]);
});

test("admins who changed a campaign are notified of its end, while they are admins", async () => {
  const id = await campaign();
  await sql`update ad_campaigns set starts_at = now() - interval '1 day', ends_at = now() where id = ${id}::uuid`;
  for (let times = 0; times < 2; times += 1) await runUpkeep(task({ task: "complete-campaigns" }));
  await sql`update users set is_admin = false where id = ${pavel.id}::uuid`;
  await runEvents();
  expect(await texts(olga)).toEqual(completed);
  expect(await texts(pavel)).toEqual([]);
});

test("admins by ADMIN_PHONES are notified too", async () => {
  const vera = await cast.user(api.client);
  await sql`update users set phone = ${adminPhone} where id = ${vera.id}::uuid`;
  const id = await cast.activeCampaign(vera.client, { name: "Осень" });
  await sql`update ad_campaigns set starts_at = now() - interval '1 day', ends_at = now() where id = ${id}::uuid`;
  await runUpkeep(task({ task: "complete-campaigns" }));
  await runEvents();
  expect(await texts(vera)).toEqual(completed);
});
