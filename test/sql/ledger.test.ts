import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { dayOf } from "../../lib/domain/days.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { closeMonth } from "../../sql/queries/ledger.js";
import { openLedgerFrom } from "../support/ledger.js";

let partnerId: string;

beforeAll(async () => {
  const [row] = await sql<{ id: string }[]>`
    with city as (
      insert into cities (id, name, timezone) values ('omsk', 'omsk', 'Asia/Omsk') returning id
    )
    insert into partners (slug, name, city_id, address, latitude, longitude)
    select 'ledger', 'Ledger', id, '-', 0, 0 from city returning id`;
  partnerId = row!.id;
  await openLedgerFrom("2026-01-01");
});

afterAll(closeDatabase);

/** Inserts lines of one transaction, in the accounts in turn. */
const insertLines = (amounts: readonly number[], month = "2026-05-01", partner = partnerId) =>
  sql`
    with whole as materialized (select new_id() as id)
    insert into ledger_entries (transaction_id, partner_id, account, kind, amount_minor, month, occurred_at)
    select whole.id, ${partner}::uuid, (enum_range(null::ledger_account))[line.n], 'CORRECTION', line.amount, ${month}::date, now()
    from whole, unnest(${[...amounts]}::bigint[]) with ordinality as line (amount, n)`;

const rows = async () => (await sql`select from ledger_entries`).count;

describe("the database refuses", () => {
  test.each([[[1]], [[1, -2]], [[5, -3, -1]]])("lines %j, which do not add up to zero", async (amounts) => {
    const before = await rows();
    await expect(insertLines(amounts)).rejects.toThrow("add up to zero");
    expect(await rows()).toBe(before);
  });

  test("lines that add up to zero over two partners", async () => {
    await expect(sql`
      with whole as materialized (select new_id() as id), other as (
        insert into partners (slug, name, city_id, address, latitude, longitude)
        values ('other', 'Other', 'omsk', '-', 0, 0) returning id
      )
      insert into ledger_entries (transaction_id, partner_id, account, kind, amount_minor, month, occurred_at)
      select whole.id, ${partnerId}::uuid, 'BALANCE'::ledger_account, 'CORRECTION'::ledger_kind, 5, date '2026-05-01', now() from whole
      union all
      select whole.id, other.id, 'ADJUSTMENTS', 'CORRECTION', -5, date '2026-05-01', now() from whole, other`).rejects.toThrow(
      "add up to zero",
    );
  });

  test("another change of what is booked", async () => {
    await insertLines([7, -7]);
    const before = await rows();
    await expect(sql`update ledger_entries set amount_minor = 0`).rejects.toThrow("never changed");
    await expect(sql`delete from ledger_entries`).rejects.toThrow("never changed");
    await expect(sql`truncate ledger_entries`).rejects.toThrow("never changed");
    expect(await rows()).toBe(before);
  });

  test("lines of a month that is closed", async () => {
    await insertLines([1, -1], "2026-02-01");
    await closeMonth(sql, "2026-03-01");
    await expect(insertLines([1, -1], "2026-03-01")).rejects.toThrow("closed");
    await insertLines([1, -1], "2026-04-01");
    // closing an earlier month opens none
    await closeMonth(sql, "2026-01-01");
    await expect(insertLines([1, -1], "2026-03-01")).rejects.toThrow("closed");
  });

  test("a change of a statement", async () => {
    await expect(sql`update statements set number = 0`).rejects.toThrow("never changed");
    await expect(sql`delete from statements`).rejects.toThrow("never changed");
    await expect(sql`truncate statements cascade`).rejects.toThrow("never changed");
  });
});

test("whatever is booked, the balance is the sum of the partner's lines on its account", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: -1e9, max: 1e9 }), { minLength: 1, maxLength: 5 }), { maxLength: 5 }),
      async (transactions) => {
        for (const amounts of transactions) {
          const rest = amounts.reduce((sum, amount) => sum + amount, 0);
          await insertLines([...amounts, 0 - rest]);
        }
        const [found] = await sql<{ balance: number; sum: number }[]>`
          select b.balance_minor as balance,
                 (select sum(e.amount_minor)::bigint from ledger_entries e where e.partner_id = b.partner_id and e.account = 'BALANCE') as sum
          from ledger_balances b where b.partner_id = ${partnerId}::uuid`;
        expect(found!.balance).toBe(found!.sum);
      },
    ),
    { numRuns: 30 },
  );
});

/** Zones whose clocks change at midnight, by half an hour, or not at all. */
const zone = fc.constantFrom(
  "Europe/Moscow",
  "Europe/Berlin",
  "America/New_York",
  "Asia/Beirut",
  "Australia/Lord_Howe",
  "Asia/Kolkata",
  "Asia/Omsk",
  "UTC",
);
/** Instants often close to the start of a month, where zones and changes of clocks matter. */
const instant = fc.oneof(
  fc.date({ min: new Date("2015-01-02T00:00:00Z"), max: new Date("2034-12-30T00:00:00Z"), noInvalidDate: true }),
  fc
    .record({ month: fc.integer({ min: 1, max: 230 }), minutes: fc.integer({ min: -1_000, max: 1_000 }) })
    .map(({ month, minutes }) => new Date(Date.UTC(2015, month, 1) + minutes * 60_000)),
);

test("what happens at an instant belongs to the month of its day in the zone, which begins before it and ends after it", async () => {
  await fc.assert(
    fc.asyncProperty(instant, zone, async (at, name) => {
      const [found] = await sql<{ month: string; begins: Date; ends: Date }[]>`
        select month::text as month, start_of_day(month, ${name}::text) as begins,
               start_of_day((month + interval '1 month')::date, ${name}::text) as ends
        from month_of(${at}::timestamptz, ${name}::text) as month`;
      const { month, begins, ends } = found!;
      expect(month).toBe(`${dayOf(at.getTime(), name).slice(0, 7)}-01`);
      expect(begins.getTime()).toBeLessThanOrEqual(at.getTime());
      expect(ends.getTime()).toBeGreaterThan(at.getTime());
    }),
    { numRuns: 200 },
  );
});

test("months follow each other without a gap, also where clocks change in between", async () => {
  const gaps = await sql`
    select zone, month
    from unnest(array['Europe/Berlin', 'America/New_York', 'Asia/Beirut', 'Australia/Lord_Howe', 'Europe/Moscow']) as zone,
         generate_series(date '2015-01-01', date '2034-12-01', interval '1 month') as month
    where start_of_day((month + interval '1 month')::date, zone) - start_of_day(month::date, zone)
      not between interval '27 days 23 hours' and interval '31 days 1 hour'`;
  expect(gaps).toHaveLength(0);
});
