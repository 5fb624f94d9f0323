import { afterAll, expect, test } from "@jest/globals";
import pg from "pg";

process.env["DATABASE_TIMEOUT_MS"] = "1000";

const { closeDatabase, sql, transaction } = await import("../../sql/db.js");
const { rollUpOneDay, updateWeights } = await import("../../workers/rollups.js");

/** A session without the service's timeouts. */
const holder = new pg.Client({ connectionString: process.env["DATABASE_URL"] });

afterAll(async () => {
  await closeDatabase();
  await holder.end();
});

test("a rollup may take longer than any other statement", async () => {
  await holder.connect();
  // what rollups wait for
  await holder.query("select pg_advisory_lock(7306029)");
  const rollups = Promise.all([rollUpOneDay("2026-03-10", "UTC"), updateWeights()]);
  // each of these waits for a second, all together longer than the process waits for an answer to others
  for (let n = 0; n < 3; n += 1)
    await expect(sql`select from pg_advisory_xact_lock(7306029)`).rejects.toMatchObject({ code: "57014" });
  await expect(transaction((tx) => tx`select from pg_advisory_xact_lock(7306029)`)).rejects.toMatchObject({
    code: "57014",
  });
  await holder.query("select pg_advisory_unlock(7306029)");
  await rollups;
  expect((await sql`select from rollup_days where day = '2026-03-10'`).length).toBe(1);
});
