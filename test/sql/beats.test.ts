import { afterAll, expect, test } from "@jest/globals";
import { recordCall } from "../../lib/outbound/vendor-calls.js";
import { startBeats } from "../../sql/beats.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { deleteOldFigures, listLastCalls } from "../../sql/queries/service-state.js";
import { until } from "../support/until.js";

afterAll(closeDatabase);

const day = 24 * 3_600_000;

test("the last calls to third parties outlive the process, and a later one of another process stays", async () => {
  const [earlier, later] = [new Date(Date.now() - 60_000), new Date()];
  await sql`insert into vendor_calls (vendor, succeeded_at) values ('SMS', ${later}::timestamptz)`;
  recordCall("SMS", false, earlier.getTime());
  recordCall("SMS", true, later.getTime());
  recordCall("geocoder", false, earlier.getTime());
  const beats = startBeats("WORKER");
  await until(async () => (await listLastCalls(sql)).length === 2);
  await beats.stop();
  expect(await sql`select from processes`).toHaveLength(0);
  expect([...(await listLastCalls(sql))]).toEqual([
    { vendor: "SMS", succeededAt: later, failedAt: later },
    { vendor: "geocoder", succeededAt: earlier, failedAt: null },
  ]);
});

test("a third party that was not called for 30 days is forgotten", async () => {
  const at = (days: number) => new Date(Date.now() - days * day);
  await sql`
    insert into vendor_calls (vendor, succeeded_at, failed_at)
    values ('old', ${at(31)}::timestamptz, ${at(40)}::timestamptz), ('new', ${at(29)}::timestamptz, ${at(40)}::timestamptz)`;
  await deleteOldFigures(sql);
  const left = (await listLastCalls(sql)).map(({ vendor }) => vendor);
  expect(left).toContain("new");
  expect(left).not.toContain("old");
});
