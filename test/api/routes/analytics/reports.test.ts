import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import type { Client } from "../../../support/api.js";
import type { Bakery, Character } from "../../../support/cast.js";
import { stopTheClock } from "../../../support/clock.js";
import type { PastBox, PastOrder } from "../../../support/past.js";
import { sized } from "../../../support/size.js";

/** In this zone clocks change at midnight: one midnight a year is missing, and one comes twice. */
const zone = "America/Havana";
process.env["DEFAULT_TIMEZONE"] = zone;
process.env["RATE_LIMIT_DISABLED"] = "1";

const { startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { addPast, idAt, makePast } = await import("../../../support/past.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { addDays, daysOf } = await import("../../../../lib/domain/days.js");
const { signAccessToken } = await import("../../../../lib/security/tokens.js");
const { toMajor } = await import("../../../../lib/domain/money.js");
const { rollUpOneDay, updateWeights } = await import("../../../../workers/rollups.js");

stopTheClock();

let api: Awaited<ReturnType<typeof startApi>>;
let operator: Character;
let admin: Client;
let customer: Character;
let bakeries: Bakery[];
let items: { id: string; weightGrams: number | null }[];

/** Partners' names, as reports show them. */
const names = new Map<string, string>();

beforeAll(async () => {
  jest.setSystemTime(Date.parse("2026-06-15T12:00:00Z"));
  api = await startApi();
  operator = await cast.admin(api.client);
  admin = operator.client;
  customer = await cast.user(api.client);
  bakeries = [
    await cast.bakery(api.client),
    await cast.bakery(api.client),
    await cast.bakery(api.client, "SUSPENDED"),
    await cast.bakery(api.client, "PENDING_REVIEW"),
  ];
  items = [];
  for (const [n, bakery] of bakeries.entries()) {
    names.set(bakery.id, `Булочная № ${n}`);
    await bakery.owner.client.put("/api/v1/partners/me", { name: `Булочная № ${n}` });
    const weightGrams = n % 2 === 0 ? 400 + n : null;
    items.push({ id: await cast.addMenuItem(bakery, weightGrams === null ? {} : { weightGrams }), weightGrams });
  }
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const second = 1_000;
const hour = 60 * 60 * second;
const day = 24 * hour;

/** Signs a user in at the mocked time. */
const signedIn = async ({ id, client }: Character) => client.as(await signAccessToken({ userId: id, scope: "USER" }));
const report = (path: string, as = admin) => as.get(`/api/v1/admin/analytics/${path}`);

const signs = Intl.DateTimeFormat("sv-SE", {
  timeZone: zone,
  dateStyle: "short",
  timeStyle: "medium",
});
const dateOf = (at: Date) => signs.format(at).slice(0, 10);
const hourOf = (at: Date) => Number(signs.format(at).slice(11, 13));
const lengths = { "7d": 7, "30d": 30, "90d": 90, "1y": 365 };
type Period = keyof typeof lengths;
const periods = Object.keys(lengths) as Period[];

function order(bakery: number, at: Date, fields: Partial<PastOrder> = {}): PastOrder {
  const { totalMinor = 1_000 } = fields;
  return {
    id: idAt(at.getTime()),
    userId: customer.id,
    partnerId: bakeries[bakery]!.id,
    status: "ACCEPTED",
    at,
    totalMinor,
    discountMinor: 0,
    commissionMinor: 150,
    lines: [{ boxId: null, menuItemId: items[bakery]!.id, priceMinor: totalMinor, qty: 1 }],
    ...fields,
  };
}

function box(bakery: number, at: Date, fields: Partial<PastBox> = {}): PastBox {
  const partnerId = bakeries[bakery]!.id;
  return { id: idAt(at.getTime()), partnerId, title: "Набор", at, weightGrams: null, ...fields };
}

describe("every report equals a direct count", () => {
  /** The expected reports, counted from all rows. */
  function count(boxes: PastBox[], orders: PastOrder[], period: Period, partnerId: string | null) {
    const today = dateOf(new Date());
    const first = new Date(Date.parse(today) - (lengths[period] - 1) * day).toISOString().slice(0, 10);
    const belongs = (thing: { at: Date; partnerId: string }) =>
      dateOf(thing.at) >= first && dateOf(thing.at) <= today && (partnerId === null || thing.partnerId === partnerId);
    const counted = orders.filter((one) => belongs(one) && one.status !== "CANCELLED");
    const sum = <T>(all: T[], of: (one: T) => number) => all.reduce((total, one) => total + of(one), 0);
    const totals = (of: PastOrder[]) => ({
      orders: of.length,
      gmv: toMajor(sum(of, ({ totalMinor, discountMinor }) => totalMinor - discountMinor)),
    });
    const byHour = (moments: { at: Date }[]) =>
      Array.from({ length: 24 }, (_, one) => ({
        hour: one,
        count: moments.filter(({ at }) => hourOf(at) === one).length,
      }));
    const ranked = <Row extends { orders: number; gmv: number }>(rows: Row[], idOf: (row: Row) => string) => ({
      gmv: rows.toSorted((a, b) => b.gmv - a.gmv || (idOf(a) < idOf(b) ? -1 : 1)),
      orders: rows.toSorted((a, b) => b.orders - a.orders || b.gmv - a.gmv || (idOf(a) < idOf(b) ? -1 : 1)),
    });
    const lines = counted.flatMap(({ lines, ...one }) => lines.map((line) => ({ ...one, ...line })));
    const weights = new Map([...boxes, ...items].map(({ id, weightGrams }) => [id, weightGrams ?? 0]));
    const active = new Set([bakeries[0]!.id, bakeries[1]!.id]);
    const hours = byHour(counted);
    return {
      dashboard: {
        ...totals(counted),
        activePartners: new Set(counted.map((one) => one.partnerId).filter((id) => active.has(id))).size,
        commission: toMajor(sum(counted, ({ commissionMinor }) => commissionMinor)),
        foodSavedGrams: sum(
          lines.filter(({ status }) => status === "COMPLETED"),
          ({ qty, boxId, menuItemId }) => qty * (weights.get(boxId ?? menuItemId ?? "") ?? 0),
        ),
        period,
      },
      totals: totals(counted),
      partners: ranked(
        bakeries
          .map(({ id }) => ({
            partnerId: id,
            name: names.get(id),
            ...totals(counted.filter((one) => one.partnerId === id)),
          }))
          .filter((row) => row.orders > 0),
        (row) => row.partnerId,
      ),
      boxes: ranked(
        boxes
          .map(({ id, title }) => {
            const own = lines.filter(({ boxId }) => boxId === id);
            const gmvMinor = sum(own, ({ priceMinor, qty, totalMinor, discountMinor }) => {
              const numerator = BigInt(priceMinor) * BigInt(qty) * BigInt(totalMinor - discountMinor);
              // rounded half up, in integers
              return totalMinor === 0 ? 0 : Number((2n * numerator + BigInt(totalMinor)) / (2n * BigInt(totalMinor)));
            });
            return { boxId: id, title, orders: own.length, gmv: toMajor(gmvMinor) };
          })
          .filter((row) => row.orders > 0),
        (row) => row.boxId,
      ),
      hours,
      listings: byHour(boxes.filter(belongs)),
      peaks: hours.toSorted((a, b) => b.count - a.count || a.hour - b.hour),
    };
  }

  /** Days around the clock changes, with the moment of the change itself, and ordinary days. */
  const now = fc.constantFrom(
    "2026-03-08T04:59:59.999Z",
    "2026-03-08T05:00:00.000Z",
    "2026-03-13T16:00:00.000Z",
    "2026-11-01T04:30:00.000Z",
    "2026-11-01T05:30:00.000Z",
    "2026-11-07T23:00:00.000Z",
    "2026-12-31T12:00:00.000Z",
  );
  /** Times anywhere in the last 400 days, at present, and where periods begin. */
  const moment = fc.oneof(
    fc.integer({ min: 0, max: 400 * day }).map((ago) => (now: number) => now - ago),
    fc.constantFrom(0, 1, second).map((ago) => (now: number) => now - ago),
    fc.tuple(fc.constantFrom(...periods), fc.constantFrom(-hour, -5 * second, -1, 0, 1, hour)).map(
      ([period, offset]) =>
        (now: number) =>
          daysOf(period, now, zone).from.getTime() + offset,
    ),
  );
  const bakery = fc.integer({ min: 0, max: 3 });
  const lag = fc.constantFrom(0, 1, 9 * second);
  const weight = fc.option(fc.integer({ min: 1, max: 9_000 }));
  const status = fc.constantFrom("ACCEPTED", "READY", "COMPLETED", "COMPLETED", "CANCELLED", "NO_SHOW");
  /** Whether a row existed before days were rolled up. */
  const late = fc.nat(3).map((n) => n === 0);
  const someBox = fc.record({ when: moment, bakery, lag, late, weight, newWeight: fc.option(weight, { freq: 1 }) });
  const someOrder = fc.record({
    when: moment,
    bakery,
    lag,
    late,
    status,
    moved: fc.option(status, { freq: 1 }),
    discount: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 100 })),
    lines: fc.array(
      fc.record({ thing: fc.nat(3), price: fc.integer({ min: 0, max: 100_000 }), qty: fc.integer({ min: 1, max: 9 }) }),
      { minLength: 1, maxLength: 3 },
    ),
  });

  test("for any orders at any times and any days rolled up before later changes", async () => {
    await fc.assert(
      fc.asyncProperty(
        now,
        fc.array(someBox, { maxLength: 12 }),
        fc.array(someOrder, { maxLength: 40 }),
        fc.array(fc.nat(), { maxLength: 25 }),
        fc.boolean(),
        fc.constantFrom(...periods),
        fc.constantFrom(null, 0, 2),
        async (at, someBoxes, someOrders, rolled, weighed, period, chosen) => {
          jest.setSystemTime(Date.parse(at));
          admin = await signedIn(operator);
          const boxes = someBoxes.map(({ when, bakery: n, lag: ms, weight: weightGrams, ...rest }) => {
            const made = when(Date.parse(at));
            return { ...rest, ...box(n, new Date(made), { id: idAt(made + ms), weightGrams }) };
          });
          const orders = someOrders.map(({ when, bakery: n, lag: ms, discount, lines: wanted, ...rest }) => {
            const made = when(Date.parse(at));
            const own = boxes.filter(
              ({ partnerId, late: tooLate }) => partnerId === bakeries[n]!.id && (rest.late || !tooLate),
            );
            const lines = wanted.map(({ thing, price, qty }) => {
              const boxId = own[thing]?.id ?? null;
              return { boxId, menuItemId: boxId === null ? items[n]!.id : null, priceMinor: price, qty };
            });
            // an order has an item only once
            const distinct = lines.filter(
              (line, index) => lines.findIndex(({ boxId }) => boxId === line.boxId) === index,
            );
            const totalMinor = distinct.reduce((total, { priceMinor, qty }) => total + priceMinor * qty, 0);
            const fields = {
              id: idAt(made + ms),
              status: rest.status,
              totalMinor,
              discountMinor: Math.floor((totalMinor * discount) / 100),
              commissionMinor: Math.round(totalMinor * 0.15),
              lines: distinct,
            };
            return { ...order(n, new Date(made), fields), late: rest.late, moved: rest.moved };
          });

          const early = (thing: { late: boolean }) => !thing.late;
          const lateOnes = (thing: { late: boolean }) => thing.late;
          await makePast(boxes.filter(early), orders.filter(early));
          const today = dateOf(new Date());
          const dates = [...boxes, ...orders].map((thing) => dateOf(thing.at)).filter((date) => date < today);
          const known = [
            ...new Set(dates),
            addDays(today, -1),
            ...periods.map((p) => daysOf(p, Date.parse(at), zone).first),
          ];
          for (const date of new Set(rolled.map((n) => known[n % known.length]!))) await rollUpOneDay(date, zone);
          await addPast(sql, boxes.filter(lateOnes), orders.filter(lateOnes));
          for (const one of orders) {
            if (one.moved === null) continue;
            one.status = one.moved;
            await sql`update orders set status = ${one.moved}::order_status where id = ${one.id}::uuid`;
          }
          for (const one of boxes) {
            if (one.newWeight === null) continue;
            one.weightGrams = one.newWeight;
            await sql`update boxes set weight_grams = ${one.newWeight}::integer where id = ${one.id}::uuid`;
          }
          if (weighed) await updateWeights();

          const partnerId = chosen === null ? null : bakeries[chosen]!.id;
          const query = `?period=${period}${partnerId === null ? "" : `&partnerId=${partnerId}`}`;
          const expected = count(boxes, orders, period, partnerId);
          expect((await report(`dashboard${query}`)).body).toEqual(expected.dashboard);
          for (const by of ["gmv", "orders"] as const) {
            const ranking = `${query}&sort=${by}&limit=7`;
            expect((await report(`top-partners${ranking}`)).list).toEqual(expected.partners[by].slice(0, 7));
            expect((await report(`top-boxes${ranking}`)).list).toEqual(expected.boxes[by].slice(0, 7));
          }
          expect((await report(`order-heatmap${query}`)).list).toEqual(expected.hours);
          expect((await report(`listing-heatmap${query}`)).list).toEqual(expected.listings);
          expect((await report(`peak-hours${query}&limit=9`)).list).toEqual(expected.peaks.slice(0, 9));
          for (const { id, owner } of bakeries) {
            const own = { partnerId: id, ...count(boxes, orders, period, id).totals };
            expect((await report(`partners/${id}?period=${period}`)).body).toEqual(own);
            const partner = await signedIn(owner);
            expect((await partner.get(`/api/v1/partners/me/analytics?period=${period}`)).body).toEqual(own);
          }
        },
      ),
      { numRuns: Number(process.env["TEST_ANALYTICS_RUNS"] ?? sized(40, 10)) },
    );
  });
});
