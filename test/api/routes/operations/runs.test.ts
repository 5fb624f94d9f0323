import { describe, expect, test } from "@jest/globals";
import { rollups } from "../../../../queues/index.js";
import { sql } from "../../../../sql/db.js";
import { rollUp } from "../../../../workers/rollups.js";
import { outcome } from "../../../support/api.js";
import { admin, auditOf, ops, why } from "../../../support/operator-scene.js";
import { task } from "../../../support/task.js";

describe("what runs by schedule is run now:", () => {
  const staged = () => sql<{ queue: string; payload: unknown }[]>`select queue, payload from staged_jobs order by id`;

  test("an upkeep task, which is audited", async () => {
    const { status, body } = await admin.client.post(`${ops}/upkeep/no-shows/run`, { why });
    expect(status).toBe(202);
    expect([...(await staged())]).toEqual([{ queue: "upkeep", payload: { task: "no-shows" } }]);
    expect(await auditOf("UPKEEP_RUN")).toEqual([{ task: "no-shows", job: String(body["jobId"]), why }]);
    expect(outcome(await admin.client.post(`${ops}/upkeep/nothing/run`, { why }))).toBe("404 NOT_FOUND");
  });

  test("the rollups of past days, a job for each", async () => {
    const run = (from: string, to: string) => admin.client.post(`${ops}/rollups/run`, { from, to, why });
    expect((await run("2026-02-27", "2026-03-01")).body).toEqual({ days: 3 });
    const days = ["2026-02-27", "2026-02-28", "2026-03-01"];
    expect([...(await staged())]).toEqual(days.map((day) => ({ queue: "rollups", payload: { day } })));
    for (const { payload } of await staged()) await rollUp(task(rollups.payload.parse(payload)));
    const done = await sql<{ day: string }[]>`
      select day::text from rollup_days where day between '2026-02-27' and '2026-03-01' order by rollup_days.day`;
    expect(done.map(({ day }) => day)).toEqual(days);
    expect(await auditOf("ROLLUP_RUN")).toEqual([{ from: "2026-02-27", to: "2026-03-01", why }]);
  });

  test.each([
    ["2026-03-01", "2026-02-28"],
    ["2026-03-01", "2999-01-01"],
    ["2020-01-01", "2026-01-01"],
  ])("not of the days from %s to %s", async (from, to) => {
    expect(outcome(await admin.client.post(`${ops}/rollups/run`, { from, to, why }))).toBe("400 VALIDATION_ERROR");
    expect(await staged()).toHaveLength(0);
  });
});
