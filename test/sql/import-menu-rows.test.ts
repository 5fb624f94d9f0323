import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { menuColumns, type MenuRow } from "../../lib/menu-csv/menu-csv.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { importMenuRows } from "../../sql/queries/menu-imports.js";
import { closeSignals } from "../../sql/signals.js";
import { startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import { lockRows } from "../support/locks.js";
import { sized } from "../support/size.js";

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

const unbounded = { room: 1_000, repeats: 1_000 };

test("items that equal their rows are neither written nor locked", async () => {
  partnerId = await newPartner();
  const rows = [rowOf({ externalId: "k-1" }), rowOf({ name: "Cake" })];
  await importMenuRows(sql, partnerId, rows, menuColumns, unbounded);
  const release = await lockRows((tx) => tx`select from menu_items where partner_id = ${partnerId}::uuid for update`);
  expect(await importMenuRows(sql, partnerId, rows, menuColumns, unbounded)).toEqual({
    created: 0,
    updated: 2,
    repeated: 0,
    ofPos: [],
    withoutRoom: [],
    beyondRepeats: [],
  });
  await release();
});

describe("importing rows in batches", () => {
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

  /** Imports the rows in batches of `size` into a menu of these items; returns the result. */
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
      const { created, updated, ofPos } = await importMenuRows(
        sql,
        partnerId,
        rows.slice(at, at + size),
        menuColumns,
        unbounded,
      );
      sum.created += created;
      sum.updated += updated;
      sum.refused.push(...ofPos.map((place) => at + place));
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

  test("gives the same result as importing them one by one", async () => {
    await fc.assert(
      fc.asyncProperty(
        before,
        fc.array(row, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 2, max: 8 }),
        async (had, rows, size) => {
          expect(await outcomeOf(had, rows, size)).toEqual(await outcomeOf(had, rows, 1));
        },
      ),
      { numRuns: sized(150, 37) },
    );
  });
});

describe("importing rows within bounds", () => {
  const names = ["a", "b", "c", "d"];
  const rows = names.map((name) => rowOf({ name, category: `of ${name}` }));
  const itemNames = async () =>
    (
      await sql<{ name: string }[]>`select name from menu_items where partner_id = ${partnerId}::uuid order by name`
    ).map(({ name }) => name);
  const categoryNames = async () =>
    (
      await sql<{ name: string }[]>`
        select name from menu_categories where partner_id = ${partnerId}::uuid order by name`
    ).map(({ name }) => name);

  test("creates no more items than there is room, without the categories of others, and updates all", async () => {
    partnerId = await newPartner();
    const run = (room: number, of = rows) => importMenuRows(sql, partnerId, of, menuColumns, { room, repeats: 10 });
    expect(await run(2)).toMatchObject({ created: 2, updated: 0, withoutRoom: [3, 4] });
    expect(await run(0, [...rows].reverse())).toMatchObject({ created: 0, updated: 2, withoutRoom: [1, 2] });
    expect(await itemNames()).toEqual(["a", "b"]);
    expect(await categoryNames()).toEqual(["of a", "of b"]);
  });

  test("counts rows that clash against the room, and imports only so many of them", async () => {
    partnerId = await newPartner();
    const repeated = [...rows, ...rows];
    const run = (bounds: { room: number; repeats: number }) =>
      importMenuRows(sql, partnerId, repeated, menuColumns, bounds);
    expect(await run({ room: 0, repeats: 8 })).toMatchObject({ created: 0, updated: 0, repeated: 8 });
    expect(await categoryNames()).toEqual([]);
    expect(await run({ room: 1, repeats: 2 })).toMatchObject({
      created: 1,
      repeated: 2,
      withoutRoom: [2],
      beyondRepeats: [3, 4, 5, 6, 7, 8],
    });
    expect(await itemNames()).toEqual(["a"]);
    expect(await run({ room: 10, repeats: 8 })).toMatchObject({ created: 3, updated: 5, beyondRepeats: [] });
    expect(await itemNames()).toEqual(names);
  });
});
