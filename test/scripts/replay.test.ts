import { afterAll, beforeEach, expect, test } from "@jest/globals";
import { push, upkeep } from "../../queues/index.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import { runScript } from "../support/run-script.js";
import { stagedRow } from "../support/trial.js";

const replay = (...args: string[]) => runScript("replay", args);

async function deadJob(): Promise<string> {
  const id = await stageJob(sql, push, { notificationId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" });
  await sql`update staged_jobs set dead_at = now(), attempts = 8, sends = 1 where id = ${id}::bigint`;
  return id;
}

const isDue = async (id: string) =>
  (await stagedRow(id, ({ dead, done, sends, attempts }) => !dead && !done && sends === 0 && attempts === 0)) !==
  undefined;

beforeEach(() => sql`truncate staged_jobs`);
afterAll(closeDatabase);

test("replays one job, by its number and by the dashboard's id", async () => {
  const [first, second] = [await deadJob(), await deadJob()];
  expect(await replay(first)).toEqual({ code: 0, output: "Replayed 1 job.\n" });
  expect(await isDue(first)).toBe(true);
  expect(await isDue(second)).toBe(false);
  expect(await replay(`${second}.0`)).toEqual({ code: 0, output: "Replayed 1 job.\n" });
  expect(await isDue(second)).toBe(true);
});

test("a job that cannot be replayed is named, with the reason", async () => {
  const id = await deadJob();
  await replay(id);
  const refused = async (reason: string) =>
    expect(await replay(id)).toEqual({ code: 1, output: expect.stringMatching(new RegExp(`^${reason}[^\n]*\n$`)) });
  await refused(`Job ${id} is not dead: it is due, after 0 attempts`);
  await sql`update staged_jobs set run_at = '2999-01-01 00:00Z'`;
  await refused(`Job ${id} is not dead: it waits until 2999-01-01T00:00:00.000Z`);
  await sql`update staged_jobs set done_at = '2026-01-01 00:00Z'`;
  await refused(`Job ${id} is not dead: it was completed at 2026-01-01T00:00:00.000Z`);
  await sql`delete from staged_jobs`;
  await refused(`There is no job ${id}. `);
});

test("replays every dead job of one queue", async () => {
  const [first, second] = [await deadJob(), await deadJob()];
  const other = await stageJob(sql, upkeep, { task: "canary" });
  await sql`update staged_jobs set dead_at = now() where id = ${other}::bigint`;
  expect(await replay("push")).toEqual({ code: 0, output: "Replayed 2 jobs.\n" });
  expect(await Promise.all([first, second, other].map(isDue))).toEqual([true, true, false]);
  expect(await replay("push")).toEqual({ code: 0, output: "Replayed 0 jobs.\n" });
});

test.each([[], ["pusch"], ["push", "sms"], ["-1"], ["9".repeat(30)]])(
  "wrong arguments (%s %s) show the usage",
  async (...args) => {
    expect(await replay(...args)).toEqual({ code: 1, output: expect.stringMatching(/^Usage: [^\n]*\n$/) });
  },
);
