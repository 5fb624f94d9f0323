import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import type { Bakery } from "../../support/cast.js";

const code = "123456";
process.env["OTP_FIXED_CODE"] = code;

const { sql } = await import("../../../sql/db.js");
const { stageJob } = await import("../../../sql/outbox.js");
const { openQueue } = await import("../../../queues/broker.js");
const { fanOut, menuImport, posSync, rollups } = await import("../../../queues/index.js");
const { JobProgress } = await import("../../../queues/progress.js");
const { startApi } = await import("../../support/api.js");
const cast = await import("../../support/cast.js");
const { disconnect, startQueueWorker } = await import("../../support/queue-worker.js");
const { lockRows } = await import("../../support/locks.js");
const { until } = await import("../../support/until.js");

const { client, stop } = await startApi();
let cookie = "";
let shop: Bakery;

beforeAll(async () => {
  shop = await cast.bakery(client);
  const { phone } = await cast.admin(client);
  const send = (path: string, form: Record<string, string>) =>
    fetch(`${client.url}/admin/queues/sign-in${path}`, {
      method: "POST",
      redirect: "manual",
      headers: { origin: client.url },
      body: new URLSearchParams(form),
    });
  await send("", { phone });
  const answer = await send("/code", { phone, code });
  cookie = /^queues=[\w-]+/.exec(answer.headers.get("set-cookie") ?? "")?.[0] ?? "";
});

afterAll(async () => {
  await stop();
  await disconnect();
});

const read = (path: string) => fetch(`${client.url}/admin${path}`, { headers: { cookie } });
/** A page's source, each run of white space as one space. */
const page = async (path: string) => (await (await read(`/ops${path}`)).text()).replaceAll(/\s+/g, " ");

const Shown = z.object({ job: z.object({ progress: z.unknown() }) });

test("a long job is under way on the first page and on the dashboard, with a bar", async () => {
  let released = false;
  const worker = startQueueWorker(rollups, async ({ progress }) => {
    progress(6, 48);
    await until(() => {
      progress(12, 48);
      return released;
    });
  });
  const id = await stageJob(sql, rollups, { days: "DUE" });
  const running = await until(async () => {
    const [job] = await openQueue(rollups).getActive();
    return JobProgress.safeParse(job?.progress).data?.done === 12 && job;
  });
  // a page does not wait long for the broker
  const shown = await until(async () => {
    const text = await page("");
    return text.includes("12 of 48 (25 %)") && text;
  });
  expect(shown).toContain(`rollups <a href="/admin/ops/jobs/${id}">${id}</a>`);
  expect(shown).toMatch(/<progress max="48" value="12">.*done at about <time/);
  const { job: onBoard } = Shown.parse(await (await read(`/queues/api/queues/rollups/${running.id ?? ""}`)).json());
  // bull-board draws what is called progress
  expect(onBoard.progress).toMatchObject({ done: 12, total: 48, progress: 25 });
  released = true;
  await worker.stop();
  await until(async () => (await page("")).includes("No job that says how far it is"));
});

test("the pages of a queue and of upkeep read nothing else of the service's state", async () => {
  const unlock = await lockRows((tx) => tx`lock table processes, pos_events, rollup_days in access exclusive mode`);
  const shown = await Promise.all([page("/queues/push"), page("/upkeep")]);
  await unlock();
  expect(shown).toEqual([expect.stringContaining("Queue push"), expect.stringContaining("Run a task now")]);
});

describe("the page of a job says how far it is by the rows that it works on:", () => {
  test("an import", async () => {
    const [row] = await sql<{ id: string }[]>`
      insert into menu_imports (partner_id, status, file_key, size, columns, delimiter, position, lines, started_at)
      values (${shop.id}::uuid, 'RUNNING', ${randomUUID()}, 4000, '{name}', ',', 1000, 1, now() - interval '1 minute')
      returning id`;
    const id = await stageJob(sql, menuImport, { importId: row?.id ?? "" });
    const shown = await page(`/jobs/${id}`);
    expect(shown).toContain("1,000 of 4,000 (25 %)");
    expect(shown).toMatch(/<progress max="4000" value="1000">.*done at about <time/);
    await sql`
      update menu_imports set status = 'FAILED', failure = 'a test', settled_at = now() where id = ${row?.id ?? ""}::uuid`;
    expect(await page(`/jobs/${id}`)).not.toContain("<progress");
  });

  test("a sync, whose length is unknown at first", async () => {
    const [row] = await sql<{ id: string }[]>`
      insert into pos_syncs (partner_id, status, items_synced, started_at)
      values (${shop.id}::uuid, 'RUNNING', 300, now() - interval '1 minute')
      returning id`;
    const id = await stageJob(sql, posSync, { syncId: row?.id ?? "" });
    expect(await page(`/jobs/${id}`)).toContain("300 so far");
    await sql`update pos_syncs set items_expected = 400 where id = ${row?.id ?? ""}::uuid`;
    expect(await page(`/jobs/${id}`)).toContain("300 of 400 (75 %)");
  });

  test("an event with many recipients", async () => {
    const boxId = await cast.listBox(shop);
    const followers = await Promise.all([1, 2, 3].map(() => cast.user(client)));
    await sql`
      insert into favorites (user_id, partner_id)
      select user_id, ${shop.id}::uuid from unnest(${followers.map(({ id }) => id)}::uuid[]) as user_id`;
    const [, second] = await sql<{ id: string }[]>`
      select id from favorites where partner_id = ${shop.id}::uuid order by id`;
    const event = { event: "BOX_LISTED", subjectId: boxId } as const;
    const [first, later] = [
      await stageJob(sql, fanOut, { ...event, after: null }),
      await stageJob(sql, fanOut, { ...event, after: second?.id ?? "" }),
    ];
    expect(await page(`/jobs/${first}`)).not.toContain("<progress");
    expect(await page(`/jobs/${later}`)).toContain("2 of 3 (66 %)");
  });
});
