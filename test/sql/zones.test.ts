import { afterAll, expect, test } from "@jest/globals";
import { isTimeZone } from "../../lib/domain/time-zones.js";
import { closeDatabase, sql } from "../../sql/db.js";

afterAll(closeDatabase);

const leftovers = ["US/Pacific-New", "us/pacific-new", "SystemV/PST8PDT", "SystemV/AST4", "Canada/East-Saskatchewan"];

test("every accepted time zone is known to Postgres", async () => {
  const names = [...Intl.supportedValuesOf("timeZone"), "UTC", "Europe/Kyiv", "Asia/Calcutta", ...leftovers];
  const taken = names.filter(isTimeZone);
  expect(taken.length).toBeGreaterThan(400);
  const unknown = await sql<{ name: string }[]>`
    select name from unnest(${taken}::text[]) as name where local_zone(name, null) <> name`;
  expect(unknown).toEqual([]);
});
