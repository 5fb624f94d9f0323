import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { menuColumns } from "../../lib/menu-csv/menu-csv.js";
import { migrate } from "../../sql/migrate.js";
import { startOwnPostgres } from "../support/own-postgres.js";
import { recordPlans, type Executed } from "../support/plans.js";

// The statistics of the tables know one partner with a big menu, as after the last ANALYZE before others join: the planner takes
// the menu of any other partner for empty.

const BATCH = 500;
const BATCHES = 4;

// the modules below read the configuration
const postgres = await startOwnPostgres();
process.env["DATABASE_URL"] = postgres.url;
const { closeDatabase, sql, transaction } = await import("../../sql/db.js");
const { closeSignals } = await import("../../sql/signals.js");
const { importMenuRows } = await import("../../sql/queries/menu-imports.js");
const { archiveAbsentItems, upsertPosItems } = await import("../../sql/queries/pos-syncs.js");

let plans: Awaited<ReturnType<typeof recordPlans>>;

beforeAll(async () => {
  await migrate(postgres.url);
  await postgres.ask("insert into cities (id, name, timezone) values ('city', 'City', 'UTC')");
  const known = await newPartner();
  await postgres.ask(
    `with category as (insert into menu_categories (partner_id, name) values ('${known}', 'Category') returning id, partner_id)
     insert into menu_items (partner_id, category_id, name, price_minor, external_id)
     select partner_id, id, 'Item ' || n, 100, 'key-' || n from category, generate_series(1, 20000) as n`,
  );
  await postgres.ask("vacuum analyze");
  plans = await recordPlans(postgres);
});

afterAll(async () => {
  await closeSignals();
  await closeDatabase();
  await plans.close();
  await postgres.stop();
});

async function newPartner(): Promise<string> {
  const [partner] = await postgres.ask<{ id: string }>(
    `insert into partners (slug, name, city_id, address, latitude, longitude, status, activated_at)
     select 'menu-' || new_id(), 'Menu', id, '-', 0, 0, 'ACTIVE', now() from cities
     returning id`,
  );
  return partner!.id;
}

const itemsOf = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    externalId: `key-${from + index}`,
    name: `Item ${from + index}`,
    category: `Category ${index % 30}`,
    priceMinor: 100,
    description: null,
    weightGrams: null,
    available: true,
  }));

const batchesOf = () => Array.from({ length: BATCHES }, (_, n) => itemsOf(n * BATCH, BATCH));

/** Fails on a statement that compared most rows of a batch with most rows of a menu, or read as many. */
function expectLookUps(executed: readonly Executed[]): void {
  const most = BATCH * 100;
  expect(executed.some(({ scans }) => scans.some(({ table }) => table === "menu_items"))).toBe(true);
  const excesses = executed.flatMap(({ query, scans, mismatches }) => [
    ...(mismatches > most ? [`compared ${mismatches} pairs: ${query}`] : []),
    ...scans
      .filter(({ table, rows }) => table === "menu_items" && rows > most)
      .map(({ how, rows }) => `${how}, ${rows} rows: ${query}`),
  ]);
  expect(excesses).toEqual([]);
}

test("a sync into a menu that the statistics do not know compares no item with all others", async () => {
  const partnerId = await newPartner();
  await plans.take();
  for (const batch of batchesOf()) await transaction((tx) => upsertPosItems(tx, partnerId, batch));
  expectLookUps(await plans.take());
});

test("nor does an import", async () => {
  const partnerId = await newPartner();
  await plans.take();
  for (const batch of batchesOf())
    await transaction((tx) => importMenuRows(tx, partnerId, batch, menuColumns, { room: BATCH, repeats: 0 }));
  expectLookUps(await plans.take());
});

test("items that are gone are archived by id", async () => {
  const partnerId = await newPartner();
  for (const batch of batchesOf()) await upsertPosItems(sql, partnerId, batch);
  await plans.take();
  expect(await archiveAbsentItems(sql, partnerId, ["key-0"])).toBe(BATCH * BATCHES - 1);
  const [update] = (await plans.take()).filter(({ query }) => query.startsWith("update menu_items"));
  expect(update?.scans).toContainEqual(expect.objectContaining({ how: expect.stringMatching(/ by menu_items_pkey$/) }));
});
