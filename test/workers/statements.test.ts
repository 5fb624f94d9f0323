import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { files, keysOf } from "../../lib/storage/file-store.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { closeMonth } from "../../sql/queries/ledger.js";
import { findDraft, makeStatements } from "../../sql/queries/statements.js";
import { makeDueStatements } from "../../workers/ledger.js";
import { writeStatement } from "../../workers/statements.js";
import { runUpkeep } from "../../workers/upkeep.js";
import { startApi, type Client } from "../support/api.js";
import { bakery, bakeryProfile, join, user, type Bakery } from "../support/cast.js";
import { newKinds, newNotifications, runEvents, stagedEvents } from "../support/events.js";
import { book, numberAll, openLedgerFrom, sell } from "../support/ledger.js";
import { makeReachable } from "../support/notifications.js";
import { textOfPdf } from "../support/pdf-text.js";
import { task } from "../support/task.js";

const zone = "Europe/Moscow";

let client: Client;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ client, stop } = await startApi());
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

/** The first day of the month that is so many months before this one. */
const monthAgo = async (ago: number) =>
  (
    await sql<{ month: string }[]>`
      select (month_of(now(), ${zone}::text) - make_interval(months => ${ago}::integer))::date::text as month`
  )[0]!.month;

/** A noon in Moscow, so many days after the first of a month. */
const noon = (month: string, days = 9) => new Date(Date.parse(`${month}T09:00:00Z`) + days * 86_400_000);

async function make(): Promise<number> {
  await numberAll();
  return makeDueStatements(task({ task: "make-statements" }));
}

interface Statement {
  id: string;
  number: number;
  month: string;
  orders: number;
  sales: number;
  commission: number;
  earlier: number;
  opening: number;
  closing: number;
}

const statementsOf = (partnerId: string) =>
  sql<Statement[]>`
    select id, number, month::text as month, orders, sales_minor as sales, commission_minor as commission,
           earlier_minor as earlier, opening_minor as opening, closing_minor as closing
    from statements where partner_id = ${partnerId}::uuid order by month`;

const numbers = async () =>
  (await sql<{ number: number }[]>`select number from statements where month is not null order by number`).map(
    ({ number }) => number,
  );

const expectNoGaps = async () => {
  const all = await numbers();
  expect(all).toEqual(all.map((_, n) => n + 1));
};

/** Every test starts with the same open month: a test closes months, in which a later one could not book. */
beforeEach(async () => {
  await openLedgerFrom(await monthAgo(3));
});

describe("statements", () => {
  test("of a month are made once it has ended, with what was handed over in it", async () => {
    const [shop, other] = [await bakery(client), await bakery(client)];
    const [before, last] = [await monthAgo(2), await monthAgo(1)];
    await sell(client, shop, 100, noon(before));
    await sell(client, shop, 200, noon(last));
    await sell(client, shop, 400);
    await sell(client, other, 50, noon(last));
    await numberAll();
    await runUpkeep(task({ task: "make-statements" }));
    expect(await statementsOf(shop.id)).toMatchObject([
      { month: before, orders: 1, sales: 10_000, commission: 1_500, opening: 0, closing: -1_500 },
      { month: last, orders: 1, sales: 20_000, commission: 3_000, opening: -1_500, closing: -4_500 },
    ]);
    expect(await statementsOf(other.id)).toMatchObject([{ month: last, orders: 1, opening: 0, closing: -750 }]);
    await expectNoGaps();
  });

  test("are not made again, however often and however many at once the task runs", async () => {
    const shop = await bakery(client);
    await sell(client, shop, 100, noon(await monthAgo(1)));
    await book();
    await Promise.all([make(), make(), make()]);
    const made = await statementsOf(shop.id);
    expect(made).toHaveLength(1);
    expect(await make()).toBe(0);
    expect(await statementsOf(shop.id)).toEqual(made);
    await expectNoGaps();
  });

  test("are continued when a run was cut short", async () => {
    const shops = [await bakery(client), await bakery(client), await bakery(client)];
    const month = await monthAgo(1);
    for (const shop of shops) await sell(client, shop, 100, noon(month));
    await book();
    await closeMonth(sql, month);
    await makeStatements(sql, { month, zone, currency: "RUB", after: null }, 1);
    await make();
    for (const shop of shops) expect(await statementsOf(shop.id)).toHaveLength(1);
    await expectNoGaps();
  });

  test("that are made already do not change: what comes late is on the next one", async () => {
    const shop = await bakery(client);
    const [before, last] = [await monthAgo(2), await monthAgo(1)];
    await openLedgerFrom(before);
    await sell(client, shop, 100, noon(before));
    await book();
    await closeMonth(sql, before);
    await makeStatements(sql, { month: before, zone, currency: "RUB", after: null }, 1_000);
    const [first] = await statementsOf(shop.id);
    // handed over in the month whose statement is made
    await sell(client, shop, 300, noon(before));
    await sell(client, shop, 20, noon(last));
    await make();
    expect(await statementsOf(shop.id)).toEqual([
      first,
      expect.objectContaining({
        month: last,
        orders: 1,
        sales: 2_000,
        earlier: -4_500,
        opening: -1_500,
        closing: -6_300,
      }),
    ]);
  });

  test("are not made in a month in which nothing happened, and the balance is carried over it", async () => {
    const shop = await bakery(client);
    const [first, last] = [await monthAgo(3), await monthAgo(1)];
    await sell(client, shop, 100, noon(first));
    await sell(client, shop, 100, noon(last));
    await make();
    expect(await statementsOf(shop.id)).toMatchObject([
      { month: first, closing: -1_500 },
      { month: last, opening: -1_500, closing: -3_000 },
    ]);
  });

  test("belong to the month of the partner's platform, whatever month it is in UTC", async () => {
    const shop = await bakery(client);
    const month = await monthAgo(1);
    // half past midnight in Moscow, on the first; in UTC it is still the month before
    await sell(client, shop, 100, new Date(Date.parse(`${month}T00:30:00Z`) - 3 * 3_600_000));
    await make();
    expect(await statementsOf(shop.id)).toMatchObject([{ month, orders: 1, earlier: 0 }]);
  });

  test("of months that are not made yet are in the opening balance of a draft", async () => {
    const shop = await bakery(client);
    const [first, before, last] = [await monthAgo(3), await monthAgo(2), await monthAgo(1)];
    await sell(client, shop, 100, noon(first));
    await sell(client, shop, 200, noon(before));
    await sell(client, shop, 400, noon(last));
    await book();
    expect(await findDraft(sql, shop.id, last, zone)).toMatchObject({ openingMinor: -4_500, closingMinor: -10_500 });
    await closeMonth(sql, first);
    await makeStatements(sql, { month: first, zone, currency: "RUB", after: null }, 10_000);
    expect(await findDraft(sql, shop.id, last, zone)).toMatchObject({ openingMinor: -4_500, closingMinor: -10_500 });
  });

  test("are as the draft said that they would be", async () => {
    const shop = await bakery(client);
    const month = await monthAgo(1);
    await sell(client, shop, 123.45, noon(month));
    await book();
    const draft = await findDraft(sql, shop.id, month, zone);
    expect(await statementsOf(shop.id)).toEqual([]);
    await make();
    const [row] = await sql`
      select orders, sales_minor as "salesMinor", till_minor as "tillMinor", own_promo_minor as "ownPromoMinor",
             platform_promo_minor as "platformPromoMinor", commission_minor as "commissionMinor", earlier_minor as "earlierMinor",
             corrections_minor as "correctionsMinor", payouts_minor as "payoutsMinor", opening_minor as "openingMinor",
             closing_minor as "closingMinor"
      from statements where partner_id = ${shop.id}::uuid`;
    expect(row).toEqual(draft);
  });
});

/** A step: book an order that was handed over so many months after the first, or end the next month. */
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      shop: fc.nat(1),
      month: fc.nat(3),
      day: fc.nat(27),
      cents: fc.integer({ min: 1, max: 99_999 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant("month ends" as const) },
);

test("whatever is booked when, statements follow each other, and with what is still open they are the ledger", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
      const shops = [await bakery(client), await bakery(client)];
      const months = [await monthAgo(5), await monthAgo(4), await monthAgo(3), await monthAgo(2)];
      await openLedgerFrom(months[0]!);
      let closed = 0;
      for (const each of steps) {
        if (each === "month ends") {
          const month = months[closed];
          if (month === undefined) continue;
          closed += 1;
          await closeMonth(sql, month);
          let after: string | null = null;
          do ({ last: after } = await makeStatements(sql, { month, zone, currency: "RUB", after }, 1));
          while (after !== null);
        } else {
          await sell(client, shops[each.shop]!, each.cents / 100, noon(months[each.month]!, each.day));
          await book();
        }
      }
      for (const shop of shops) {
        const made = await statementsOf(shop.id);
        expect(made.map(({ opening }) => opening)).toEqual(
          [0, ...made.map(({ closing }) => closing)].slice(0, made.length),
        );
        const [ledger] = await sql<{ balance: number; open: number }[]>`
          select coalesce(sum(amount_minor) filter (where account = 'BALANCE'), 0)::bigint as balance,
                 coalesce(sum(amount_minor) filter (where account = 'BALANCE' and month >= s.open_month), 0)::bigint as open
          from ledger_entries, ledger_state s
          where partner_id = ${shop.id}::uuid`;
        expect((made.at(-1)?.closing ?? 0) + ledger!.open).toBe(ledger!.balance);
      }
      await expectNoGaps();
    }),
    { numRuns: 8 },
  );
});

describe("the document of a statement", () => {
  /** Makes the statement of a bakery for last month; returns its id. */
  async function newStatement(shop: Bakery): Promise<string> {
    await sell(client, shop, 249.9, noon(await monthAgo(1)));
    await make();
    return (await statementsOf(shop.id))[0]!.id;
  }
  const write = (statementId: string) => writeStatement(task({ statementId }));
  const fileOf = async (statementId: string) =>
    (await sql<{ name: string }[]>`select name from statement_files where statement_id = ${statementId}::uuid`)[0]!
      .name;

  test("has a job, staged with the statement", async () => {
    const statementId = await newStatement(await bakery(client));
    const jobs = await sql`
      select from staged_jobs where queue = 'statements' and payload ->> 'statementId' = ${statementId}`;
    expect(jobs).toHaveLength(1);
  });

  test("is a PDF in storage with the partner's name and figures", async () => {
    const statementId = await newStatement(await bakery(client));
    await write(statementId);
    const text = textOfPdf(await buffer(await files.read(keysOf(await fileOf(statementId)).document)));
    expect(text).toContain(bakeryProfile.name);
    expect(text).toContain("249,90 ₽");
    expect(text).toContain("Партнёр должен платформе 37,49 ₽.");
  });

  test("has the name that the partner had when the statement was made", async () => {
    const shop = await bakery(client);
    const statementId = await newStatement(shop);
    await sql`update partners set name = 'Другая' where id = ${shop.id}::uuid`;
    await write(statementId);
    const text = textOfPdf(await buffer(await files.read(keysOf(await fileOf(statementId)).document)));
    expect(text).toContain(bakeryProfile.name);
    expect(text).not.toContain("Другая");
  });

  test("is written once, and its owner is notified once, not the staff", async () => {
    const shop = await bakery(client);
    const helper = await user(client);
    await join(shop, helper);
    await makeReachable([shop.owner.id, helper.id]);
    const statementId = await newStatement(shop);
    await newNotifications(shop.owner);
    await newNotifications(helper);
    await Promise.all([write(statementId), write(statementId)]);
    await write(statementId);
    expect(await stagedEvents(statementId)).toHaveLength(1);
    await runEvents(statementId);
    expect(await newKinds(shop.owner)).toEqual(["STATEMENT_READY"]);
    expect(await newKinds(helper)).toEqual([]);
  });

  test("keeps its name when a run was cut short before it was noted", async () => {
    const statementId = await newStatement(await bakery(client));
    await write(statementId);
    const name = await fileOf(statementId);
    await sql`update statement_files set made_at = null where statement_id = ${statementId}::uuid`;
    await write(statementId);
    expect(await fileOf(statementId)).toBe(name);
  });
});
