import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { addDays, startOfDay } from "../../lib/domain/days.js";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { rollUpDay, applyWeightChanges } from "../../sql/queries/rollups.js";
import { countBlocked, lockRows } from "../support/locks.js";
import { idAt, makePast, addPast, type PastOrder } from "../support/past.js";
import { until } from "../support/until.js";

afterAll(closeDatabase);

const zone = "Europe/Berlin";
const day = "2026-03-10";
const noon = new Date("2026-03-10T12:00:00Z");

let userId: string;
let partnerId: string;
let itemId: string;

beforeEach(async () => {
  const [made] = await sql<{ userId: string; partnerId: string; itemId: string }[]>`
    with buyer as (
      insert into users (service_id, phone) values ('SF-' || gen_random_uuid(), '+7' || floor(random() * 1e10)::bigint) returning id
    ), city as (
      insert into cities (id, name, timezone) values (gen_random_uuid()::text, 'Omsk', 'Asia/Omsk') returning id
    ), seller as (
      insert into partners (slug, name, city_id, address, latitude, longitude, status)
      select id, 'Bakery', id, '-', 0, 0, 'ACTIVE' from city
      returning id
    ), category as (
      insert into menu_categories (partner_id, name) select id, 'Bread' from seller returning id, partner_id
    ), item as (
      insert into menu_items (partner_id, category_id, name, price_minor, weight_grams)
      select partner_id, id, 'Rye', 500, 300 from category
      returning id
    )
    select buyer.id as "userId", seller.id as "partnerId", item.id as "itemId" from buyer, seller, item`;
  ({ userId, partnerId, itemId } = made!);
  await makePast([], []);
});

const order = (at = noon, status: PastOrder["status"] = "COMPLETED"): PastOrder => ({
  id: idAt(at.getTime()),
  userId,
  partnerId,
  status,
  at,
  totalMinor: 500,
  discountMinor: 0,
  commissionMinor: 75,
  lines: [{ boxId: null, menuItemId: itemId, priceMinor: 500, qty: 1 }],
});

const isLive = async (of = day, inZone = zone) =>
  (await sql`select from live_days(${inZone}::text, ${of}::date, ${of}::date)`).length === 1;

interface Figures {
  orders: number;
  savedGrams: number;
}

const figures = async (of = day) =>
  (
    await sql<Figures[]>`
      select orders, saved_grams as "savedGrams" from rollup_days where day = ${of}::date and rolled_up_at is not null`
  )[0];

const rollUp = (of = day, inZone = zone) => rollUpDay(sql, of, inZone);

describe("a day", () => {
  // zones where clocks change at midnight, by half an hour, with an odd offset, at 24:00 of the day before, and not at all
  const zones = [
    ...["UTC", "Asia/Kolkata", "Asia/Kathmandu", "Europe/Berlin", "America/New_York", "America/Havana"],
    ...[
      "America/Nuuk",
      "America/Scoresbysund",
      "America/Santiago",
      "Asia/Beirut",
      "Africa/Cairo",
      "Australia/Lord_Howe",
    ],
    ...["Pacific/Chatham", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Moscow", "America/Sao_Paulo"],
  ];

  test.each(zones)("in %s begins at the same time in Postgres and in the code", async (inZone) => {
    const days = await sql<{ day: string; at: Date }[]>`
      select day::date as day, start_of_day(day::date, ${inZone}) as at
      from generate_series('2017-01-01'::timestamp, '2026-12-31', '1 day') as day`;
    // all days around a change of clocks, and some others
    const checked = days.filter(({ at }, n) => {
      const next = days[Math.min(n + 1, days.length - 1)]!.at.getTime() - at.getTime();
      const before = at.getTime() - days[Math.max(n - 1, 0)]!.at.getTime();
      return n % 30 === 0 || next !== 86_400_000 || before !== 86_400_000;
    });
    expect(checked.map((one) => [one.day, one.at])).toEqual(
      checked.map((one) => [one.day, startOfDay(one.day, inZone)]),
    );
  });

  test.each([
    ["2026-03-29", 23],
    ["2026-10-25", 25],
    ["2026-10-26", 24],
  ])("%s has %i hours in Berlin, and each order is in exactly one day", async (of, hours) => {
    const start = startOfDay(of, zone).getTime();
    const before = [order(new Date(start - 1))];
    const within = Array.from({ length: hours }, (_, n) => order(new Date(start + n * 3_600_000)));
    const after = [order(new Date(start + hours * 3_600_000))];
    await makePast([], [...before, ...within, ...after]);
    await rollUp(of);
    expect(await figures(of)).toMatchObject({ orders: hours });
    const rows = await sql<{ hour: number; orders: number }[]>`
      select hour, orders from rollup_hours where day = ${of}::date order by hour`;
    const expected = { 23: [2, 0], 24: [2, 1], 25: [2, 2] }[hours]!;
    expect(rows.length).toBe(hours === 23 ? 23 : 24);
    expect(rows.find(({ hour }) => hour === expected[0])?.orders ?? 0).toBe(expected[1]);
    expect(rows.reduce((sum, row) => sum + row.orders, 0)).toBe(hours);
  });

  test("has the same figures when it is rolled up again", async () => {
    await makePast([], [order(), order()]);
    await rollUp();
    const tables = () => sql`
      select (select json_agg(p order by p) from rollup_partners p) as partners,
             (select json_agg(i order by i) from rollup_items i) as items,
             (select json_agg(h order by h) from rollup_hours h) as hours`;
    const once = [...(await tables())];
    await rollUp();
    await Promise.all([rollUp(), rollUp()]);
    expect([...(await tables())]).toEqual(once);
    expect(await figures()).toEqual({ orders: 2, savedGrams: 600 });
  });

  test("is rolled up in one zone at a time", async () => {
    await makePast([], [order(new Date("2026-03-10T23:30:00Z"))]);
    await rollUp("2026-03-10");
    await rollUp("2026-03-11");
    expect(await figures("2026-03-11")).toMatchObject({ orders: 1 });
    await rollUp("2026-03-10", "UTC");
    expect(await figures("2026-03-10")).toMatchObject({ orders: 1 });
    const days = await sql<{ day: string; zone: string }[]>`select day, zone from rollup_days`;
    expect(days).toEqual([{ day: "2026-03-10", zone: "UTC" }]);
    const partners = await sql`select from rollup_partners`;
    expect(partners.length).toBe(1);
    expect([await isLive("2026-03-10", "UTC"), await isLive("2026-03-10"), await isLive("2026-03-11")]).toEqual([
      false,
      true,
      true,
    ]);
  });
});

describe("a rolled-up day becomes live until it is rolled up again by", () => {
  test("an order that is cancelled or picked up, and by no other move", async () => {
    const [first, second] = [order(noon, "ACCEPTED"), order(noon, "ACCEPTED")];
    await makePast([], [first, second]);
    await rollUp();
    await sql`update orders set status = 'READY' where id = ${first.id}::uuid`;
    expect(await isLive()).toBe(false);
    await sql`update orders set status = 'COMPLETED' where id = ${first.id}::uuid`;
    expect(await isLive()).toBe(true);
    await rollUp();
    expect(await figures()).toEqual({ orders: 2, savedGrams: 300 });
    expect(await isLive()).toBe(false);
    await sql`update orders set status = 'CANCELLED' where id = ${second.id}::uuid`;
    expect(await isLive()).toBe(true);
    expect([await isLive(addDays(day, -1)), await figures(addDays(day, -1))]).toEqual([true, undefined]);
    await rollUp();
    expect(await figures()).toEqual({ orders: 1, savedGrams: 300 });
  });

  test("a new order or box of that day, and not by one of today", async () => {
    await rollUp();
    await addPast(sql, [], [order(new Date())]);
    expect(await isLive()).toBe(false);
    await addPast(sql, [], [order()]);
    expect(await isLive()).toBe(true);
    await rollUp();
    expect(await figures()).toMatchObject({ orders: 1 });
    await addPast(sql, [{ id: idAt(noon.getTime()), partnerId, title: "Box", at: noon, weightGrams: null }], []);
    expect(await isLive()).toBe(true);
  });
});

describe("an uncommitted change", () => {
  test.each([
    ["for the first time", () => Promise.resolve()],
    ["again", () => rollUp()],
  ])("to a day that is rolled up %s leaves its record, and neither waits for the other", async (_case, before) => {
    await before();
    const commit = await lockRows((tx) => addPast(tx, [], [order()]));
    await rollUp();
    expect([await isLive(), await figures()]).toEqual([false, { orders: 0, savedGrams: 0 }]);
    await commit();
    expect(await isLive()).toBe(true);
    await rollUp();
    expect([await isLive(), await figures()]).toEqual([false, { orders: 1, savedGrams: 300 }]);
  });

  test("that commits after a rollup has deleted the records but before it counts leaves the day live", async () => {
    await makePast([], [order()]);
    // the rollup deletes records, and waits there for this lock
    const release = await lockRows((tx) => tx`select from rollup_changes for update`);
    const rolling = rollUp();
    await until(async () => (await countBlocked()) === 1);
    await addPast(sql, [], [order()]);
    await release();
    await rolling;
    expect([await isLive(), await figures()]).toEqual([true, { orders: 2, savedGrams: 600 }]);
    await rollUp();
    expect([await isLive(), await figures()]).toEqual([false, { orders: 2, savedGrams: 600 }]);
  });

  test("commits without waiting while its day is being rolled up", async () => {
    const proceed = await lockRows((tx) => rollUpDay(tx, day, zone));
    await addPast(sql, [], [order()]);
    await proceed();
    expect([await isLive(), await figures()]).toEqual([true, { orders: 0, savedGrams: 0 }]);
  });
});

test("rollups of one day wait for each other", async () => {
  await makePast([], [order()]);
  await rollUp();
  const proceed = await lockRows((tx) => rollUpDay(tx, day, zone));
  const second = rollUp();
  await until(async () => (await countBlocked()) === 1);
  await proceed();
  await second;
  expect([await isLive(), await figures()]).toEqual([false, { orders: 1, savedGrams: 300 }]);
});

describe("a change of weight", () => {
  const setWeight = (grams: number | null, db = sql) =>
    db`update menu_items set weight_grams = ${grams}::integer where id = ${itemId}::uuid`;

  beforeEach(async () => {
    await makePast([], [order(), order(new Date(noon.getTime() + 86_400_000))]);
    await rollUp();
    await rollUp(addDays(day, 1));
  });

  test("is applied to all days, which stay rolled up", async () => {
    await setWeight(450);
    expect(await applyWeightChanges(sql, 10)).toBe(1);
    expect(await applyWeightChanges(sql, 10)).toBe(0);
    expect([await figures(), await figures(addDays(day, 1))]).toEqual([
      { orders: 1, savedGrams: 450 },
      { orders: 1, savedGrams: 450 },
    ]);
    await setWeight(null);
    expect(await applyWeightChanges(sql, 10)).toBe(1);
    expect(await figures()).toEqual({ orders: 1, savedGrams: 0 });
    expect([await isLive(), await isLive(addDays(day, 1))]).toEqual([false, false]);
    const partners = await sql<{ grams: number }[]>`select saved_grams as grams from rollup_partners`;
    expect(partners).toEqual([{ grams: 0 }, { grams: 0 }]);
  });

  test("that is uncommitted is applied by the next run", async () => {
    await setWeight(450);
    const commit = await lockRows((tx) => setWeight(900, tx));
    expect(await applyWeightChanges(sql, 10)).toBe(0);
    await commit();
    expect(await applyWeightChanges(sql, 10)).toBe(1);
    expect(await figures()).toEqual({ orders: 1, savedGrams: 900 });
  });

  test("during its application is applied by another run", async () => {
    await setWeight(450);
    const proceed = await lockRows((tx) => tx`select apply_weight_changes(10)`);
    const changed = transaction((tx) => setWeight(900, tx));
    await until(async () => (await countBlocked()) === 1);
    await proceed();
    await changed;
    expect(await figures()).toEqual({ orders: 1, savedGrams: 450 });
    expect(await applyWeightChanges(sql, 10)).toBe(1);
    expect(await figures()).toEqual({ orders: 1, savedGrams: 900 });
  });
});
