import { afterAll, expect, test } from "@jest/globals";
import { PermanentError } from "../../lib/errors.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { findHeartbeatAge } from "../../sql/queries/heartbeats.js";
import { findStagedJobStats } from "../../sql/queries/staged-jobs.js";
import { runUpkeep } from "../../workers/upkeep.js";
import { task } from "../support/task.js";

afterAll(closeDatabase);

test("the canary leaves a heartbeat", async () => {
  expect(await findHeartbeatAge(sql, "canary")).toBeUndefined();
  await runUpkeep(task({ task: "canary" }));
  await runUpkeep(task({ task: "canary" }));
  expect(await findHeartbeatAge(sql, "canary")).toBeLessThan(60);
});

test("finished jobs are purged after their time, open ones never", async () => {
  await sql`
    insert into staged_jobs (queue, payload, created_at, done_at, dead_at)
    select name, '{}', now() - interval '90 days', done_at, dead_at
    from (values
      ('open', null, null),
      ('done today', now() - interval '23 hours', null),
      ('done before', now() - interval '25 hours', null),
      ('dead lately', null, now() - interval '29 days'),
      ('dead long since', null, now() - interval '31 days')
    ) as jobs (name, done_at, dead_at)`;
  expect(await findStagedJobStats(sql)).toMatchObject({ dead: 2 });
  const run = task({ task: "purge-staged-jobs" });
  await runUpkeep(run);
  const left = await sql<{ queue: string }[]>`select queue from staged_jobs order by queue`;
  expect(left.map(({ queue }) => queue)).toEqual(["dead lately", "done today", "open"]);
  expect(run.lines).toMatchObject([{ count: 2 }]);
});

test("an unknown task is given up", async () => {
  await expect(runUpkeep(task({ task: "constructor" }))).rejects.toThrow(PermanentError);
});
