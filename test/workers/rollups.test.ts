import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Days, Period } from "../../lib/domain/days.js";
import type { Db } from "../../sql/db.js";
import type { PastBox, PastOrder } from "../support/past.js";
import { sized } from "../support/size.js";

const zone = "America/New_York";
process.env["DEFAULT_TIMEZONE"] = zone;

const { addDays, dayOf, daysOf, periods, startOfDay } = await import("../../lib/domain/days.js");
const { closeDatabase, sql, transaction } = await import("../../sql/db.js");
const analytics = await import("../../sql/queries/analytics.js");
const { moveOrder } = await import("../../sql/queries/orders.js");
const { listDueDays } = await import("../../sql/queries/rollups.js");
const { rollUp, rollUpOneDay, updateWeights } = await import("../../workers/rollups.js");
const { addPast, idAt, makePast } = await import("../support/past.js");
const { randomFrom } = await import("../support/random.js");
const { task } = await import("../support/task.js");

let userId: string;
let partners: { id: string; itemId: string }[];

const now = Date.now();
const today = dayOf(now, zone);
const yesterday = addDays(today, -1);
const hour = 60 * 60 * 1_000;
const noonOf = (day: string) => new Date(startOfDay(day, zone).getTime() + 12 * hour);

beforeAll(async () => {
  const [user] = await sql<{ id: string }[]>`
    insert into users (service_id, phone) values ('SF-ROLLUPS', '+79990001122') returning id`;
  userId = user!.id;
  await sql`insert into cities (id, name, timezone) values ('omsk', 'Omsk', 'Asia/Omsk')`;
  partners = await sql<{ id: string; itemId: string }[]>`
    with seller as (
      insert into partners (slug, name, city_id, address, latitude, longitude, status)
      select 'p' || n, 'Bakery ' || n, 'omsk', '-', 0, 0, case n when 4 then 'SUSPENDED' else 'ACTIVE' end::partner_status
      from generate_series(1, 4) as n
      returning id
    ), category as (
      insert into menu_categories (partner_id, name) select id, 'Bread' from seller returning id, partner_id
    )
    insert into menu_items (partner_id, category_id, name, price_minor, weight_grams)
    select partner_id, id, 'Rye', 500, 300 from category
    returning partner_id as id, id as "itemId"`;
});

afterAll(closeDatabase);
beforeEach(() => makePast([], []));

function order(at: Date, fields: Partial<PastOrder> = {}): PastOrder {
  const { id, itemId } = partners[0]!;
  return {
    id: idAt(at.getTime()),
    userId,
    partnerId: id,
    status: "ACCEPTED",
    at,
    totalMinor: 500,
    discountMinor: 0,
    commissionMinor: 75,
    lines: [{ boxId: null, menuItemId: itemId, priceMinor: 500, qty: 1 }],
    ...fields,
  };
}

const due = async () => (await listDueDays(sql, zone, yesterday)).map(({ day }) => day);

describe("the rollup job", () => {
  test("rolls up every day since the first order up to yesterday, and then has nothing to do", async () => {
    const first = addDays(today, -4);
    await makePast([], [order(noonOf(first)), order(noonOf(yesterday)), order(new Date(now))]);
    expect(await due()).toEqual([-1, -2, -3, -4].map((ago) => addDays(today, ago)));
    const run = task({ days: "DUE" as const });
    await rollUp(run);
    expect(run.lines).toMatchObject([{ days: 4, weights: 0 }]);
    expect(run.reported).toEqual([1, 2, 3, 4].map((days) => [days, 4]));
    expect(await due()).toEqual([]);
    const rows = await sql<{ day: string; orders: number }[]>`select day, orders from rollup_days order by day`;
    expect(rows.map(({ orders }) => orders)).toEqual([1, 0, 0, 1]);
    expect(rows.at(-1)?.day).toBe(yesterday);
    const again = task({ days: "DUE" as const });
    await rollUp(again);
    expect(again.lines).toEqual([]);
  });

  test("starts at the first box when that is older than all orders, and does nothing without either", async () => {
    await rollUp(task({ days: "DUE" as const }));
    expect((await sql`select from rollup_days`).length).toBe(0);
    const at = noonOf(addDays(today, -2));
    const box = { id: idAt(at.getTime()), partnerId: partners[0]!.id, title: "Box", at, weightGrams: null };
    await makePast([box], [order(noonOf(yesterday))]);
    expect(await due()).toEqual([-1, -2].map((ago) => addDays(today, ago)));
  });

  test("recomputes the last three days every night", async () => {
    await makePast([], [order(noonOf(addDays(today, -4))), order(noonOf(addDays(today, -3)))]);
    await rollUp(task({ days: "DUE" as const }));
    // wrong figures, as no code of the service writes them
    await sql`update rollup_days set orders = 7`;
    const run = task({ days: "LATEST" as const });
    await rollUp(run);
    expect(run.lines).toMatchObject([{ days: 3 }]);
    const rows = await sql<{ orders: number }[]>`select orders from rollup_days order by day`;
    expect(rows.map(({ orders }) => orders)).toEqual([7, 1, 0, 0]);
  });

  test("recomputes a day that a late move of an order has changed", async () => {
    const cancelled = order(noonOf(yesterday));
    await makePast([], [order(noonOf(addDays(today, -2))), cancelled]);
    await rollUp(task({ days: "DUE" as const }));
    expect(
      await moveOrder(sql, cancelled.id, "CANCELLED", { actor: "PARTNER", userId, partnerId: cancelled.partnerId }),
    ).toMatchObject({ outcome: "MOVED" });
    expect(await due()).toEqual([yesterday]);
    await rollUp(task({ days: "DUE" as const }));
    expect(await due()).toEqual([]);
    expect((await sql`select from rollup_partners`).length).toBe(1);
  });

  test("leaves complete days when interrupted, and continues in the next run", async () => {
    await makePast(
      [],
      [-3, -2, -1].map((ago) => order(noonOf(addDays(today, ago)))),
    );
    const stopping = new AbortController();
    const looks: boolean[] = [];
    const signal = new Proxy(stopping.signal, {
      get: (of, name) => {
        // aborts before the second day
        if (name === "aborted" && looks.push(true) === 2) stopping.abort();
        return Reflect.get(of, name, of) as unknown;
      },
    });
    await rollUp({ ...task({ days: "DUE" as const }), signal });
    expect(await due()).toEqual([-2, -3].map((ago) => addDays(today, ago)));
    await rollUp(task({ days: "DUE" as const }));
    expect(await due()).toEqual([]);
  });
});

/** Every report, counted from all orders and boxes and read from rollups. */
async function bothWays(db: Db, days: Days, partnerId: string | null) {
  const [totals] = await db<{ orders: number; gmvMinor: number; commissionMinor: number; activePartners: number }[]>`
    select count(*) as orders, coalesce(sum(total_minor - discount_minor), 0)::bigint as "gmvMinor",
           coalesce(sum(commission_minor), 0)::bigint as "commissionMinor",
           count(distinct p.id) filter (where p.status = 'ACTIVE') as "activePartners"
    from orders o join partners p on p.id = o.partner_id
    where o.status <> 'CANCELLED' and (o.partner_id = ${partnerId}::uuid or ${partnerId}::uuid is null)
      and (o.created_at at time zone ${zone})::date between ${days.first}::date and ${days.last}::date`;
  const [saved] = await db<{ foodSavedGrams: number }[]>`
    select coalesce(sum(i.qty * coalesce(b.weight_grams, m.weight_grams, 0)), 0)::bigint as "foodSavedGrams"
    from orders o join order_items i on i.order_id = o.id
    left join boxes b on b.id = i.box_id left join menu_items m on m.id = i.menu_item_id
    where o.status = 'COMPLETED' and (o.partner_id = ${partnerId}::uuid or ${partnerId}::uuid is null)
      and (o.created_at at time zone ${zone})::date between ${days.first}::date and ${days.last}::date`;
  const ofPartners = await db<{ partnerId: string; orders: number; gmvMinor: number }[]>`
    select partner_id as "partnerId", count(*) as orders, sum(total_minor - discount_minor)::bigint as "gmvMinor"
    from orders o
    where o.status <> 'CANCELLED' and (o.partner_id = ${partnerId}::uuid or ${partnerId}::uuid is null)
      and (o.created_at at time zone ${zone})::date between ${days.first}::date and ${days.last}::date
    group by 1 order by 3 desc, 1`;
  const ofBoxes = await db<{ boxId: string; orders: number; gmvMinor: number }[]>`
    select i.box_id as "boxId", count(*) as orders,
           sum(round(i.price_minor * i.qty * (o.total_minor - o.discount_minor)::numeric / o.total_minor))::bigint as "gmvMinor"
    from orders o join order_items i on i.order_id = o.id
    where i.box_id is not null and o.status <> 'CANCELLED' and (o.partner_id = ${partnerId}::uuid or ${partnerId}::uuid is null)
      and (o.created_at at time zone ${zone})::date between ${days.first}::date and ${days.last}::date
    group by 1 order by 2 desc, 3 desc, 1`;
  const hours = await db<{ hour: number; count: number }[]>`
    select extract(hour from o.created_at at time zone ${zone})::integer as hour, count(*) as count
    from orders o
    where o.status <> 'CANCELLED' and (o.partner_id = ${partnerId}::uuid or ${partnerId}::uuid is null)
      and (o.created_at at time zone ${zone})::date between ${days.first}::date and ${days.last}::date
    group by 1 order by 1`;
  const listings = await db<{ hour: number; count: number }[]>`
    select extract(hour from o.created_at at time zone ${zone})::integer as hour, count(*) as count
    from boxes o
    where (o.partner_id = ${partnerId}::uuid or ${partnerId}::uuid is null)
      and (o.created_at at time zone ${zone})::date between ${days.first}::date and ${days.last}::date
    group by 1 order by 1`;
  const shown = (rows: readonly { hour: number; count: number }[]) => rows.filter(({ count }) => count > 0);
  const rankedPartners = await analytics.listTopPartners(db, days, partnerId, "gmv", 100);
  const rankedBoxes = await analytics.listTopBoxes(db, days, partnerId, "orders", 1_000);
  return {
    counted: {
      dashboard: { ...totals, ...saved },
      ofPartners: [...ofPartners],
      ofBoxes: [...ofBoxes],
      hours: [...hours],
      listings: [...listings],
      own: partnerId === null ? null : { orders: totals!.orders, gmvMinor: totals!.gmvMinor },
    },
    reported: {
      dashboard: await analytics.findDashboard(db, days, partnerId),
      ofPartners: rankedPartners.map(({ partnerId: id, orders, gmvMinor }) => ({ partnerId: id, orders, gmvMinor })),
      ofBoxes: rankedBoxes.map(({ boxId, orders, gmvMinor }) => ({ boxId, orders, gmvMinor })),
      hours: shown(await analytics.listOrdersByHour(db, days, partnerId)),
      listings: shown(await analytics.listListingsByHour(db, days, partnerId)),
      own: partnerId === null ? null : await analytics.findPartnerTotals(db, days, partnerId),
    },
  };
}

test("under concurrent orders, moves, boxes, changes of weight and rollups, every report equals a direct count", async () => {
  const random = randomFrom(Number(process.env["TEST_SEED"] ?? 20_260_310));
  const ages = [0, 0, 1, 1, 1, 2, 3, 6, 7, 20, 29, 30, 80, 89, 90, 200, 364, 365];
  const moment = () =>
    new Date(
      Math.min(now, noonOf(addDays(today, -random.pick(ages))).getTime() + (random.between(0, 239) / 10 - 12) * hour),
    );

  const boxes: PastBox[] = [];
  const orders: PastOrder[] = [];
  const makeBox = async () => {
    const at = moment();
    const box = { id: idAt(at.getTime()), partnerId: random.pick(partners).id, title: "Box", at, weightGrams: 700 };
    await addPast(sql, [box], []);
    // so that orders can return boxes
    await sql`update boxes set quantity_reserved = 1000000 where id = ${box.id}::uuid`;
    boxes.push(box);
  };
  const makeOrder = async () => {
    const { id: partnerId, itemId } = random.pick(partners);
    const at = moment();
    const line = { menuItemId: itemId, boxId: null, priceMinor: 500, qty: 2 };
    const box = boxes.find((one) => one.partnerId === partnerId);
    const lines = box ? [line, { menuItemId: null, boxId: box.id, priceMinor: 333, qty: 1 }] : [line];
    const totalMinor = box ? 1_333 : 1_000;
    const made = order(at, { partnerId, lines, totalMinor, discountMinor: random.pick([0, 100, 501]) });
    // in one transaction, as placing an order does; some commit late
    await transaction(async (tx) => {
      await addPast(tx, [], [made]);
      if (random.between(1, 3) === 1) await tx`select pg_sleep(${random.between(0, 50) / 1_000})`;
    });
    orders.push(made);
  };
  const move = async () => {
    if (orders.length === 0) return;
    const target = random.pick(["READY", "COMPLETED", "CANCELLED", "NO_SHOW"] as const);
    await transaction(async (tx) => {
      const { id, partnerId } = random.pick(orders);
      await moveOrder(
        tx,
        id,
        target,
        target === "NO_SHOW" ? { actor: "SERVICE" } : { actor: "PARTNER", userId, partnerId },
      );
      if (random.between(1, 3) === 1) await tx`select pg_sleep(${random.between(0, 50) / 1_000})`;
    });
  };
  const weigh = async () => {
    const grams = random.pick([null, 100, 250, 999]);
    if (random.between(0, 1) === 0)
      await sql`update menu_items set weight_grams = ${grams}::integer where id = ${random.pick(partners).itemId}::uuid`;
    else if (boxes.length > 0)
      await sql`update boxes set weight_grams = ${grams}::integer where id = ${random.pick(boxes).id}::uuid`;
  };

  let going = true;
  const keep = async (...deeds: (() => Promise<unknown>)[]) => {
    try {
      while (going) await random.pick(deeds)();
    } finally {
      going = false;
    }
  };
  const looks = { taken: 0, rolled: 0 };
  const compare = async () => {
    for (const period of Object.keys(periods) as Period[]) {
      const days = daysOf(period, now, zone);
      for (const partnerId of [null, partners[0]!.id]) {
        await transaction(async (tx) => {
          await tx`set transaction isolation level repeatable read`;
          const { counted, reported } = await bothWays(tx, days, partnerId);
          expect([period, partnerId, reported]).toEqual([period, partnerId, counted]);
          const [row] = await tx<{ count: number }[]>`
            select 365 - count(*) as count from live_days(${zone}::text, ${addDays(today, -364)}::date, ${today}::date)`;
          looks.taken += 1;
          looks.rolled += row!.count;
        });
      }
    }
  };
  const rolling = async () => {
    const day = addDays(today, -random.pick(ages.filter((age) => age > 0)));
    await rollUpOneDay(day, zone);
  };

  const busy = [
    keep(makeOrder, makeOrder, makeOrder, makeBox, move, weigh),
    keep(makeOrder, move, move, weigh),
    keep(rolling),
    keep(rolling, () => updateWeights()),
  ];
  const watching = (async () => {
    try {
      for (let round = 0; round < Number(process.env["TEST_ROLLUP_ROUNDS"] ?? sized(6, 2)); round += 1) await compare();
    } finally {
      going = false;
    }
  })();
  await Promise.all([watching, ...busy]);
  // the test means little unless some reports came from rollups
  expect(looks.rolled).toBeGreaterThan(looks.taken);
  await rollUp(task({ days: "DUE" as const }));
  await compare();
  expect(await due()).toEqual([]);
});
