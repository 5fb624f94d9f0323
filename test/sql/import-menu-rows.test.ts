import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { menuColumns, type MenuRow } from "../../lib/menu-csv/menu-csv.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { importMenuRows } from "../../sql/queries/menu-imports.js";
import { closeSignals } from "../../sql/signals.js";
import { startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import { hold } from "../support/hold.js";

let api: Awaited<ReturnType<typeof startApi>>;
let partnerId: string;

const newPartner = async () => (await cast.bakery(api.client)).id;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

const rowOf = (row: Partial<MenuRow>): MenuRow => ({
  name: "Bread",
  category: "Bread",
  priceMinor: 1,
  externalId: null,
  description: null,
  weightGrams: null,
  available: null,
  ...row,
});

test("items that are as their rows say are neither written nor locked", async () => {
  partnerId = await newPartner();
  const rows = [rowOf({ externalId: "k-1" }), rowOf({ name: "Cake" })];
  await importMenuRows(sql, partnerId, rows, menuColumns);
  const release = await hold((tx) => tx`select from menu_items where partner_id = ${partnerId}::uuid for update`);
  expect(await importMenuRows(sql, partnerId, rows, menuColumns)).toEqual({ created: 0, updated: 2, refused: [] });
  await release();
});

describe("rows that are written together", () => {
  const name = fc.constantFrom("а", "А", "б", "В");
  const key = fc.option(fc.constantFrom("1", "2", "3"), { nil: null });
  const row: fc.Arbitrary<MenuRow> = fc.record({
    name,
    category: fc.constantFrom("х", "Х", "ц"),
    priceMinor: fc.nat(5),
    externalId: key,
    description: fc.option(fc.constant("d"), { nil: null }),
    weightGrams: fc.option(fc.constant(5), { nil: null }),
    available: fc.option(fc.boolean(), { nil: null }),
  });
  interface Item {
    name: string;
    key: string | null;
    source: "MANUAL" | "CSV" | "POS";
    archived: boolean;
  }
  const before: fc.Arbitrary<Item[]> = fc.uniqueArray(
    fc.record({ name, key, source: fc.constantFrom<Item["source"][]>("MANUAL", "CSV", "POS"), archived: fc.boolean() }),
    { maxLength: 6, selector: ({ key }) => key ?? Symbol("none") },
  );

  /** Imports the rows so many at a time into a menu that has these items; answers what came of it. */
  async function outcomeOf(had: Item[], rows: MenuRow[], size: number): Promise<unknown> {
    partnerId = await newPartner();
    for (const item of had) {
      await sql`
        with category as (
          insert into menu_categories as c (partner_id, name) values (${partnerId}::uuid, 'х')
          on conflict (partner_id, lower(name)) do update set name = c.name
          returning id
        )
        insert into menu_items (partner_id, category_id, name, price_minor, external_id, source, archived_at)
        select ${partnerId}::uuid, id, ${item.name}, 100, ${item.key}, ${item.source}::item_source,
               case when ${item.archived} then now() end
        from category`;
    }
    const sum = { created: 0, updated: 0, refused: [] as number[] };
    for (let at = 0; at < rows.length; at += size) {
      const { created, updated, refused } = await importMenuRows(
        sql,
        partnerId,
        rows.slice(at, at + size),
        menuColumns,
      );
      sum.created += created;
      sum.updated += updated;
      sum.refused.push(...refused.map((place) => at + place));
    }
    expect(sum.created + sum.updated + sum.refused.length).toBe(rows.length);
    const items = await sql`
      select i.name, c.name as category, i.price_minor, i.description, i.weight_grams, i.external_id, i.source,
             i.available, i.archived_at is not null as archived
      from menu_items i join menu_categories c on c.id = i.category_id
      where i.partner_id = ${partnerId}::uuid`;
    const sorted = items
      .map((item) => JSON.stringify({ ...item, category: String(item["category"]).toLowerCase() }))
      .sort();
    const categories = await sql`
      select name from menu_categories where partner_id = ${partnerId}::uuid order by name`;
    return { ...sum, refused: sum.refused.sort((one, other) => one - other), sorted, categories: [...categories] };
  }

  test("come to the same as one after the other", async () => {
    await fc.assert(
      fc.asyncProperty(
        before,
        fc.array(row, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 2, max: 8 }),
        async (had, rows, size) => {
          expect(await outcomeOf(had, rows, size)).toEqual(await outcomeOf(had, rows, 1));
        },
      ),
      { numRuns: 150 },
    );
  });
});
