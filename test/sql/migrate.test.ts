import { expect, test } from "@jest/globals";
import { sql } from "../../sql/db.js";
import { pendingMigrations } from "../../sql/migrate.js";

test("a fresh copy is migrated", async () => {
  expect(await pendingMigrations(sql)).toEqual([]);
});
