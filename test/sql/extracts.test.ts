import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { addDays, dayOf } from "../../lib/domain/days.js";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { closeMonth, insertManualEntry, lockLedger } from "../../sql/queries/ledger.js";
import {
  findDraft,
  listStatementDays,
  listStatementLines,
  makeExtract,
  makeStatements,
} from "../../sql/queries/statements.js";
import { startApi, type Client } from "../support/api.js";
import { admin, bakery, type Bakery, type Character } from "../support/cast.js";
import { book, handOver, numberAll, openLedgerFrom, placeOrder, sell } from "../support/ledger.js";

const moscow = "Europe/Moscow";

let client: Client;
let stop: () => Promise<void>;
let boss: Character;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  boss = await admin(client);
  await openLedgerFrom("2015-01-01");
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

let references = 0;
/** Books an amount by hand, as if it had happened at a moment. */
async function bookAt(shop: Bakery, at: Date, amountMinor: number, kind: "CORRECTION" | "PAYOUT" = "CORRECTION") {
  references += 1;
  const reference = `ref-${references}`;
  await transaction(async (tx) => {
    await lockLedger(tx);
    const entry = { partnerId: shop.id, kind, amountMinor, at, reference, reason: null, orderId: null };
    await insertManualEntry(tx, entry, boss.id, moscow);
  });
}

const extract = (shop: Bakery, firstDay: string, lastDay: string, zone = moscow, mostADay: number | null = null) =>
  makeExtract(sql, {
    partnerId: shop.id,
    firstDay,
    lastDay,
    zone,
    currency: "RUB",
    actorId: boss.id,
    requestId: "test",
    mostADay,
  });

interface Extract {
  id: string;
  number: number;
  orders: number;
  sales: number;
  till: number;
  ownPromo: number;
  platformPromo: number;
  commission: number;
  corrections: number;
  payouts: number;
  opening: number;
  closing: number;
}

async function figuresOf(id: string | null): Promise<Extract> {
  const [found] = await sql<Extract[]>`
    select id, number, orders, sales_minor as sales, till_minor as till, own_promo_minor as "ownPromo",
           platform_promo_minor as "platformPromo", commission_minor as commission, corrections_minor as corrections,
           payouts_minor as payouts, opening_minor as opening, closing_minor as closing
    from statements where id = ${id}::uuid and month is null`;
  return found!;
}

/** The lines of a partner with their day in a zone, by the calendar of JavaScript. */
const datedLines = async (partnerId: string, zone: string) =>
  (
    await sql<{ account: string; kind: string; amount: number; at: Date }[]>`
      select account::text as account, kind::text as kind, amount_minor as amount, occurred_at as at
      from ledger_entries where partner_id = ${partnerId}::uuid`
  ).map((line) => ({ ...line, day: dayOf(line.at.getTime(), zone) }));

/** Counts an extract anew from the lines of its days and of those before. */
async function recount(partnerId: string, firstDay: string, lastDay: string, zone: string) {
  const all = (await datedLines(partnerId, zone)).filter(({ day }) => day <= lastDay);
  const lines = all.filter(({ day }) => day >= firstDay);
  const sum = (of: typeof all, account: string, kind?: string) =>
    of
      .filter((line) => line.account === account && (kind === undefined || line.kind === kind))
      .reduce((total, { amount }) => total + amount, 0);
  return {
    orders: lines.filter(({ account }) => account === "SALES").length,
    sales: 0 - sum(lines, "SALES"),
    till: sum(lines, "TILL"),
    ownPromo: sum(lines, "PROMO"),
    platformPromo: sum(lines, "BALANCE", "PROMO"),
    commission: sum(lines, "COMMISSION"),
    corrections: sum(lines, "BALANCE", "CORRECTION"),
    payouts: sum(lines, "BALANCE", "PAYOUT"),
    opening: sum(all, "BALANCE") - sum(lines, "BALANCE"),
    closing: sum(all, "BALANCE"),
  };
}

const noon = (day: string) => new Date(`${day}T09:00:00Z`);

/** With clocks that go forward at midnight, half an hour at a time, or not at all. */
const zones = fc.constantFrom(moscow, "Europe/Berlin", "America/New_York", "Asia/Beirut", "Australia/Lord_Howe", "UTC");
/** In the days around which clocks change somewhere; many at the beginning or the end of a day. */
const instants = fc
  .record({ day: fc.integer({ min: 0, max: 45 }), minutes: fc.integer({ min: -180, max: 180 }), noon: fc.boolean() })
  .map(({ day, minutes, noon: atNoon }) => new Date(Date.UTC(2024, 2, day, atNoon ? 12 : 0, minutes)));
const days = fc
  .record({ start: fc.integer({ min: -3, max: 45 }), length: fc.integer({ min: 0, max: 20 }) })
  .map(({ start, length }) => ({
    firstDay: addDays("2024-03-01", start),
    lastDay: addDays("2024-03-01", start + length),
  }));

test("an extract has what happened on its days in its zone, whatever was booked when, and the next days go on from it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: instants, cents: fc.integer({ min: -99_999, max: 99_999 }), paid: fc.boolean() }), {
        maxLength: 8,
      }),
      days,
      zones,
      async (entries, { firstDay, lastDay }, zone) => {
        const shop = await bakery(client);
        for (const { at, cents, paid } of entries) await bookAt(shop, at, cents, paid ? "PAYOUT" : "CORRECTION");
        const made = await figuresOf((await extract(shop, firstDay, lastDay, zone)).id);
        expect(made).toMatchObject(await recount(shop.id, firstDay, lastDay, zone));
        const next = await extract(shop, addDays(lastDay, 1), addDays(lastDay, 9), zone);
        expect((await figuresOf(next.id)).opening).toBe(made.closing);
        const listed = await listStatementLines(sql, made.id, 0, 100);
        expect(listed.reduce((sum, { balanceMinor }) => sum + (balanceMinor ?? 0), 0)).toBe(
          made.closing - made.opening,
        );
      },
    ),
    { numRuns: 40 },
  );
});

test("a day on which clocks go forward has 23 hours, and one on which they go back 25", async () => {
  const shop = await bakery(client);
  // 31 March and 27 October 2024 in Berlin, and an hour before and after
  for (const at of ["2024-03-30T22:59:59Z", "2024-03-30T23:00:00Z", "2024-03-31T21:59:59Z", "2024-03-31T22:00:00Z"])
    await bookAt(shop, new Date(at), 1);
  for (const at of ["2024-10-26T21:59:59Z", "2024-10-26T22:00:00Z", "2024-10-27T22:59:59Z", "2024-10-27T23:00:00Z"])
    await bookAt(shop, new Date(at), 1);
  for (const [day, opening] of [
    ["2024-03-31", 1],
    ["2024-10-27", 5],
  ] as const) {
    const { id } = await extract(shop, day, day, "Europe/Berlin");
    expect(await figuresOf(id)).toMatchObject({ opening, corrections: 2, closing: opening + 2 });
  }
});

let codes = 0;
async function promo(shop: Bakery | null): Promise<string> {
  codes += 1;
  const code = `EXTRACT-${codes}`;
  await boss.client.post("/api/v1/admin/promo/create", {
    code,
    discountPercent: 10,
    ...(shop && { partnerId: shop.id }),
  });
  return code;
}

describe("an extract", () => {
  test("has orders with their discounts, day by day, also those that no task has booked yet", async () => {
    const shop = await bakery(client);
    await sell(client, shop, 100, noon("2024-05-09"));
    await book();
    for (const code of [await promo(null), await promo(shop), undefined])
      await handOver(shop, await placeOrder(client, shop, 200, code), noon("2024-05-10"));
    await sell(client, shop, 50, noon("2024-05-12"));
    await sell(client, shop, 70, noon("2024-05-13"));
    await numberAll();
    const { id } = await extract(shop, "2024-05-10", "2024-05-12");
    const made = await figuresOf(id);
    expect(made).toMatchObject({ orders: 4, sales: 65_000, till: 61_000, ownPromo: 2_000, platformPromo: 2_000 });
    expect(made).toMatchObject(await recount(shop.id, "2024-05-10", "2024-05-12", moscow));
    expect(await listStatementDays(sql, id!)).toEqual([
      { day: "2024-05-10", orders: 3, salesMinor: 60_000, commissionMinor: made.commission - 750 },
      { day: "2024-05-12", orders: 1, salesMinor: 5_000, commissionMinor: 750 },
    ]);
  });

  test("of days on which nothing happened confirms the balance, also of a partner without any entry", async () => {
    const shop = await bakery(client);
    expect(await figuresOf((await extract(shop, "2024-05-10", "2024-05-10")).id)).toMatchObject({
      opening: 0,
      closing: 0,
    });
    await bookAt(shop, noon("2024-05-01"), -700);
    const { id } = await extract(shop, "2024-05-10", "2024-05-10");
    expect(await figuresOf(id)).toMatchObject({ orders: 0, opening: -700, closing: -700 });
  });

  test("is the same one when it is asked for again, also at once, and other days have another", async () => {
    const shop = await bakery(client);
    await bookAt(shop, noon("2024-05-10"), 100);
    const asked = await Promise.all([1, 2, 3].map(() => extract(shop, "2024-05-01", "2024-05-31")));
    expect(new Set(asked.map(({ id }) => id)).size).toBe(1);
    expect(asked.filter(({ isNew }) => isNew)).toHaveLength(1);
    // later days do not matter to it
    await bookAt(shop, noon("2024-06-01"), 5);
    expect(await extract(shop, "2024-05-01", "2024-05-31")).toEqual({ id: asked[0]!.id, isNew: false });
    expect((await extract(shop, "2024-05-01", "2024-05-30")).isNew).toBe(true);
    expect((await extract(await bakery(client), "2024-05-01", "2024-05-31")).isNew).toBe(true);
    const audited = await sql`
      select details from audit_events where subject_id = ${shop.id}::uuid and action = 'SETTLEMENT_EXTRACT' order by id`;
    expect(audited).toMatchObject([
      { details: { statementId: asked[0]!.id, firstDay: "2024-05-01", lastDay: "2024-05-31" } },
      { details: { lastDay: "2024-05-30" } },
    ]);
  });

  test.each(["2024-05-10", "2024-04-10"])(
    "stays as it is when something is booked late for %s, and a new one has it",
    async (day) => {
      const shop = await bakery(client);
      await bookAt(shop, noon("2024-05-10"), 100);
      const first = await figuresOf((await extract(shop, "2024-05-01", "2024-05-31")).id);
      const lines = await listStatementLines(sql, first.id, 0, 10);
      await bookAt(shop, noon(day), 7);
      const again = await extract(shop, "2024-05-01", "2024-05-31");
      expect(again.isNew).toBe(true);
      expect(await figuresOf(again.id)).toMatchObject({ number: first.number + 1, closing: 107 });
      expect(await figuresOf(first.id)).toEqual(first);
      expect(await listStatementLines(sql, first.id, 0, 10)).toEqual(lines);
      expect(await extract(shop, "2024-05-01", "2024-05-31")).toEqual({ id: again.id, isNew: false });
    },
  );

  test("is refused once the partner has got as many as it may, but not one that is there already", async () => {
    const shop = await bakery(client);
    const known = await extract(shop, "2024-05-01", "2024-05-01", moscow, 2);
    await extract(shop, "2024-05-02", "2024-05-02", moscow, 2);
    expect((await extract(shop, "2024-05-03", "2024-05-03", moscow, 2)).id).toBeNull();
    expect(await extract(shop, "2024-05-01", "2024-05-01", moscow, 2)).toEqual({ id: known.id, isNew: false });
    expect((await extract(shop, "2024-05-03", "2024-05-03")).isNew).toBe(true);
  });

  test("never changes, and has a number without gaps in a series of its own", async () => {
    await expect(sql`update statements set number = number + 1 where month is null`).rejects.toThrow("never changed");
    const numbers = (
      await sql<{ number: number }[]>`select number from statements where month is null order by number`
    ).map(({ number }) => number);
    expect(numbers.length).toBeGreaterThan(2);
    expect(numbers).toEqual(numbers.map((_, n) => n + 1));
  });
});

test("extracts take nothing from the statement of the month, which has the same figures as one of all its days", async () => {
  const shop = await bakery(client);
  await openLedgerFrom("2025-02-01");
  await bookAt(shop, noon("2025-02-10"), 900);
  for (const price of [100, 249.9]) await sell(client, shop, price, noon("2025-03-10"));
  await bookAt(shop, noon("2025-03-20"), -300, "PAYOUT");
  await book();
  const draft = await findDraft(sql, shop.id, "2025-03-01", moscow);
  const whole = await figuresOf((await extract(shop, "2025-03-01", "2025-03-31")).id);
  await extract(shop, "2025-03-05", "2025-03-15");
  expect(await findDraft(sql, shop.id, "2025-03-01", moscow)).toEqual(draft);
  const numbered = await sql<{ last: number }[]>`select last_number as last from ledger_state`;
  for (const month of ["2025-02-01", "2025-03-01"]) {
    await closeMonth(sql, month);
    await makeStatements(sql, { month, zone: moscow, currency: "RUB", after: null }, 10_000);
  }
  const [month] = await sql<Extract[]>`
    select number, orders, sales_minor as sales, till_minor as till, own_promo_minor as "ownPromo",
           platform_promo_minor as "platformPromo", commission_minor as commission, corrections_minor as corrections,
           payouts_minor as payouts, opening_minor as opening, closing_minor as closing
    from statements where partner_id = ${shop.id}::uuid and month = '2025-03-01'`;
  expect(month!.number).toBeGreaterThan(numbered[0]!.last);
  expect({ ...whole, number: month!.number }).toEqual({ id: whole.id, ...month });
});
