import { afterAll, expect, test } from "@jest/globals";
import { limits } from "../../lib/domain/limits.js";
import { closeDatabase, sql } from "../../sql/db.js";

afterAll(closeDatabase);

test.each([
  ["order_items", limits.order.pieces],
  ["box_items", limits.box.pieces],
])("the schema has the code's limit of pieces for a row of %s", async (table, most) => {
  const checks = await sql<{ check: string | null }[]>`
    select pg_get_constraintdef(oid) as check
    from pg_constraint
    where conname = ${`${table}_qty_check`}`;
  expect(checks).toEqual([{ check: `CHECK (((qty >= 1) AND (qty <= ${most})))` }]);
});
