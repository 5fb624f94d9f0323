import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { menuColumns } from "../../lib/menu-csv/menu-csv.js";
import { migrate } from "../../sql/migrate.js";
import { startOwnPostgres } from "../support/own-postgres.js";
import { recordPlans, type Executed } from "../support/plans.js";

// Statistics that mislead the planner about the menu of a partner that has joined since the last ANALYZE: known partners'
// menus are taken for all there are, so that this one is empty, or for typical, so that it has one item.

const BATCH = 500;
const BATCHES = 4;

// the modules below read the configuration
const postgres = await startOwnPostgres();
process.env["DATABASE_URL"] = postgres.url;
const { closeDatabase, sql, transaction } = await import("../../sql/db.js");
const { closeSignals } = await import("../../sql/signals.js");
const { importMenuRows } = await import("../../sql/queries/menu-imports.js");
const { archiveAbsentItems, updateAvailability, upsertPosItems } = await import("../../sql/queries/pos-menu.js");

let plans: Awaited<ReturnType<typeof recordPlans>>;

beforeAll(async () => {
  await migrate(postgres.url);
  await postgres.ask("insert into cities (id, name, timezone) values ('city', 'City', 'UTC')");
  plans = await recordPlans(postgres);
});

afterAll(async () => {
  await closeSignals();
  await closeDatabase();
  await plans.close();
  await postgres.stop();
});

async function newPartners(count: number): Promise<string[]> {
  const partners = await postgres.ask<{ id: string }>(
    `insert into partners (slug, name, city_id, address, latitude, longitude, status, activated_at)
     select 'menu-' || new_id(), 'Menu', 'city', '-', 0, 0, 'ACTIVE', now() from generate_series(1, ${count})
     returning id`,
  );
  return partners.map(({ id }) => id);
}

async function newPartner(): Promise<string> {
  const [partner] = await newPartners(1);
  return partner!;
}

/** Leaves statistics of so many partners with as many items each, and nothing else in the tables. */
async function analyzeMenus(partners: number, items: number): Promise<void> {
  await postgres.ask("truncate menu_items, menu_categories cascade");
  const known = await newPartners(partners);
  await postgres.ask(
    `with category as (
       insert into menu_categories (partner_id, name) select unnest('{${known.join()}}'::uuid[]), 'Category' returning id, partner_id
     )
     insert into menu_items (partner_id, category_id, name, price_minor, external_id)
     select partner_id, id, 'Item ' || n, 100, 'key-' || n from category, generate_series(1, ${items}) as n`,
  );
  await postgres.ask("vacuum analyze menu_items");
  await postgres.ask("vacuum analyze menu_categories");
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

/** Batches of a menu, after so many of one item that Postgres keeps a plan that was made for such. */
const batchesOf = () => [
  ...Array.from({ length: 8 }, (_, n) => itemsOf(n, 1)),
  ...Array.from({ length: BATCHES }, (_, n) => itemsOf(n * BATCH, BATCH)),
];

/**
 * Fails on a statement that compared most rows of a batch with most rows of a menu, or looked at the whole menu, with a filter that
 * compares each of its items with the batch.
 */
function expectLookUps(executed: readonly Executed[]): void {
  const scansOfMenu = executed.flatMap(({ scans }) => scans.filter(({ table }) => table === "menu_items"));
  expect(scansOfMenu).not.toEqual([]);
  expect(
    scansOfMenu.filter(({ how, rows }) => how.endsWith(" by menu_items_by_partner") || rows > BATCH * 100),
  ).toEqual([]);
  expect(executed.filter(({ mismatches }) => mismatches > BATCH * 100)).toEqual([]);
}

describe.each([
  { known: "one partner with a large menu", partners: 1, items: 5_000 },
  { known: "partners with one item each", partners: 2_000, items: 1 },
  { known: "a single item", partners: 1, items: 1 },
])("while statistics know $known", ({ partners, items }) => {
  beforeEach(() => analyzeMenus(partners, items));

  test("a sync compares no item with all others", async () => {
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

  test("nor do changes of availability", async () => {
    const partnerId = await newPartner();
    for (const batch of batchesOf()) await transaction((tx) => upsertPosItems(tx, partnerId, batch));
    await plans.take();
    for (const batch of batchesOf()) {
      const changes = batch.map(({ externalId }) => ({ externalId, available: false }));
      expect(await transaction((tx) => updateAvailability(tx, partnerId, changes))).toBe(batch.length);
    }
    expectLookUps(await plans.take());
  });

  test("nor does the archiving of those that are gone", async () => {
    const partnerId = await newPartner();
    for (const batch of batchesOf()) await transaction((tx) => upsertPosItems(tx, partnerId, batch));
    await plans.take();
    expect(await archiveAbsentItems(sql, partnerId, ["key-0"])).toBe(BATCH * BATCHES - 1);
    for (const { scans, mismatches } of await plans.take()) {
      expect(scans.filter(({ rows }) => rows > BATCH * 100)).toEqual([]);
      expect(mismatches).toBe(0);
    }
  });
});
