import { afterAll, expect, test } from "@jest/globals";
import { addDays } from "../../lib/domain/days.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { findYesterday } from "../../sql/queries/rollups.js";
import { runScript } from "../support/run-script.js";

const zone = "Asia/Tokyo";

const rollup = (...args: string[]) => runScript("rollup", args, { DEFAULT_TIMEZONE: zone });

afterAll(closeDatabase);

test("rolls up the given days in the deployment's zone, by default until yesterday", async () => {
  expect(await rollup("--from", "2026-02-27", "--to", "2026-03-01")).toEqual({
    code: 0,
    output: "2026-02-27\n2026-02-28\n2026-03-01\n3 days rolled up.\n",
  });
  const yesterday = await findYesterday(sql, zone);
  expect(await rollup("--from", yesterday)).toEqual({ code: 0, output: `${yesterday}\n1 day rolled up.\n` });
  const rows = await sql<{ day: string; zone: string }[]>`select day, zone from rollup_days order by day`;
  expect(rows).toEqual(["2026-02-27", "2026-02-28", "2026-03-01", yesterday].toSorted().map((day) => ({ day, zone })));
});

test("refuses days that are not past", async () => {
  const today = addDays(await findYesterday(sql, zone), 1);
  for (const args of [
    ["--from", today],
    ["--from", "2026-03-01", "--to", today],
    ["--from", "2026-03-02", "--to", "2026-03-01"],
  ]) {
    expect(await rollup(...args)).toEqual({
      code: 1,
      output: expect.stringMatching(/^The days must be past, [^\n]*\n$/),
    });
  }
});

test.each([[], ["2026-03-01"], ["--from", "2026-02-30"], ["--from", "yesterday"], ["--until", "2026-03-01"]])(
  "wrong arguments (%s %s) show the usage",
  async (...args) => {
    expect(await rollup(...args)).toEqual({ code: 1, output: expect.stringMatching(/^Usage: [^\n]*\n$/) });
  },
);
