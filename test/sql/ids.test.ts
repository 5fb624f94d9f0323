import { afterAll, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../sql/db.js";

afterAll(closeDatabase);

test("ids are UUIDs v7 of their time, in order of creation even within a millisecond", async () => {
  const ids: string[] = [];
  const before = Date.now();
  for (let n = 0; n < 300; n += 1) ids.push((await sql<{ id: string | null }[]>`select new_id() as id`)[0]!.id!);
  const after = Date.now();
  expect(ids).toEqual(ids.toSorted());
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const at = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
    expect(at).toBeGreaterThanOrEqual(before - 5_000);
    expect(at).toBeLessThanOrEqual(after + 5_000);
  }
});

test("a new id costs no call of a function: the planner puts the expression in its place", async () => {
  const plan = await sql`explain (verbose) select new_id()`;
  expect(JSON.stringify(plan)).toContain("gen_random_uuid");
  expect(JSON.stringify(plan)).not.toContain("new_id");
});
