import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { insertManualEntry, lockLedger } from "../../sql/queries/ledger.js";
import { moveOrder } from "../../sql/queries/orders.js";
import { bookLedger } from "../../workers/ledger.js";
import { runUpkeep } from "../../workers/upkeep.js";
import { startApi, type Client } from "../support/api.js";
import { admin, bakery, type Bakery, type Character } from "../support/cast.js";
import { book, handOver, linesOf, numberAll, placeOrder, sell, sumOf, type Line } from "../support/ledger.js";
import { task } from "../support/task.js";

let client: Client;
let stop: () => Promise<void>;
let boss: Character;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  boss = await admin(client);
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

const booked = (lines: readonly Line[], transactionId: string) =>
  Object.fromEntries(
    lines
      .filter((line) => line.transactionId === transactionId)
      .map(({ account, kind, amountMinor }) => [`${account} ${kind}`, amountMinor]),
  );

let codes = 0;
/** Creates a promo code of so many percent, for all partners or one; returns it. */
async function promo(discountPercent: number, shop: Bakery | null): Promise<string> {
  codes += 1;
  const code = `LEDGER-${codes}`;
  await boss.client.post("/api/v1/admin/promo/create", { code, discountPercent, ...(shop && { partnerId: shop.id }) });
  return code;
}

test("the customer pays the partner, who owes the commission", async () => {
  const shop = await bakery(client);
  const orderId = await sell(client, shop, 200);
  await book();
  expect(booked(await linesOf(shop.id), orderId)).toEqual({
    "SALES SALE": -20_000,
    "TILL SALE": 20_000,
    "BALANCE COMMISSION": -3_000,
    "COMMISSION COMMISSION": 3_000,
  });
});

test("the platform pays for a code that holds everywhere, a partner for its own", async () => {
  const shop = await bakery(client);
  const [everywhere, own] = [
    await placeOrder(client, shop, 200, await promo(10, null)),
    await placeOrder(client, shop, 200, await promo(10, shop)),
  ];
  for (const orderId of [everywhere, own]) await handOver(shop, orderId);
  await book();
  const lines = await linesOf(shop.id);
  expect(booked(lines, everywhere)).toMatchObject({
    "SALES SALE": -20_000,
    "TILL SALE": 18_000,
    "BALANCE PROMO": 2_000,
  });
  expect(booked(lines, own)).toMatchObject({ "SALES SALE": -20_000, "TILL SALE": 18_000, "PROMO PROMO": 2_000 });
  expect(sumOf(lines, "BALANCE")).toBe(2_000 - 2 * 2_700);
});

test("orders that are open, cancelled or not picked up cost nothing", async () => {
  const shop = await bakery(client);
  const partner = { actor: "PARTNER", userId: shop.owner.id, partnerId: shop.id } as const;
  const orders = [1, 2, 3, 4].map(() => placeOrder(client, shop, 100));
  const [, ready, cancelled, missed] = await Promise.all(orders);
  await moveOrder(sql, ready!, "READY", partner);
  await moveOrder(sql, cancelled!, "CANCELLED", partner);
  await moveOrder(sql, missed!, "NO_SHOW", { actor: "SERVICE" });
  await book();
  expect(await linesOf(shop.id)).toEqual([]);
});

test("workers that book at once book each event once", async () => {
  const shop = await bakery(client);
  for (let n = 0; n < 5; n += 1) await sell(client, shop, 10);
  await numberAll();
  await Promise.all([1, 2, 3, 4].map(() => bookLedger(task({ task: "book-ledger" }))));
  expect(sumOf(await linesOf(shop.id), "SALES")).toBe(-5_000);
});

test("an upkeep task books", async () => {
  const shop = await bakery(client);
  await sell(client, shop, 10);
  await numberAll();
  await runUpkeep(task({ task: "book-ledger" }));
  expect(sumOf(await linesOf(shop.id), "TILL")).toBe(1_000);
});

test("orders whose events were dropped before they were read are booked from the orders, once", async () => {
  const shop = await bakery(client);
  await sell(client, shop, 30);
  await book();
  const orderId = await sell(client, shop, 10);
  await numberAll();
  // as after a month without workers
  await sql`update event_log set dropped_position = last_position`;
  await sql`delete from events`;
  const run = task({ task: "book-ledger" });
  await bookLedger(run);
  expect(run.lines).toMatchObject([{ level: 40, msg: expect.stringContaining("dropped") }]);
  expect(booked(await linesOf(shop.id), orderId)).toMatchObject({ "TILL SALE": 1_000 });
  expect(sumOf(await linesOf(shop.id), "TILL")).toBe(4_000);
  // the log continues
  await sell(client, shop, 20);
  await book();
  expect(sumOf(await linesOf(shop.id), "TILL")).toBe(6_000);
});

type Move = "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";

/** Actions on a partner's account: place and move an order, book by hand, or book the log. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant("order" as const),
      cents: fc.integer({ min: 1, max: 1_000_000 }),
      promo: fc.constantFrom(null, "everywhere" as const, "own" as const),
      percent: fc.integer({ min: 1, max: 10_000 }).map((hundredths) => hundredths / 100),
      moves: fc.array(fc.constantFrom<Move>("READY", "COMPLETED", "CANCELLED", "NO_SHOW"), { maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant("hand" as const),
      kind: fc.constantFrom("CORRECTION" as const, "PAYOUT" as const),
      cents: fc.integer({ min: -1_000_000, max: 1_000_000 }).filter((cents) => cents !== 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("book" as const) }) },
);

/** Recomputes a partner's account from its completed orders and the payers of their discounts. */
async function recount(shop: Bakery) {
  const orders = await sql<{ total: number; due: number; discount: number; commission: number; own: boolean }[]>`
    select o.total_minor as total, o.amount_due_minor as due, o.discount_minor as discount, o.commission_minor as commission,
           c.partner_id is not null as own
    from orders o
    left join promo_redemptions r on r.order_id = o.id
    left join promo_codes c on c.id = r.promo_id
    where o.partner_id = ${shop.id}::uuid and o.status = 'COMPLETED'`;
  const sum = (of: (order: (typeof orders)[number]) => number) => orders.reduce((total, order) => total + of(order), 0);
  return {
    SALES: 0 - sum(({ total }) => total),
    TILL: sum(({ due }) => due),
    PROMO: sum(({ own, discount }) => (own ? discount : 0)),
    COMMISSION: sum(({ commission }) => commission),
    BALANCE: sum(({ own, discount, commission }) => (own ? 0 : discount) - commission),
  };
}

test("after any sequence of moves and corrections the ledger is what the orders say, and so it is after a replay of the log", async () => {
  let references = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const shop = await bakery(client);
      const byHand = { CORRECTION: 0, PAYOUT: 0 };
      for (const each of steps) {
        if (each.what === "book") await book();
        if (each.what === "hand") {
          references += 1;
          byHand[each.kind] += each.cents;
          const entry = {
            partnerId: shop.id,
            kind: each.kind,
            amountMinor: each.cents,
            at: new Date(),
            reference: `ref-${references}`,
            reason: null,
            orderId: null,
          };
          await transaction(async (tx) => {
            await lockLedger(tx);
            await insertManualEntry(tx, entry, boss.id, "Europe/Moscow");
          });
        }
        if (each.what !== "order") continue;
        const code = each.promo && (await promo(each.percent, each.promo === "own" ? shop : null));
        const orderId = await placeOrder(client, shop, each.cents / 100, code ?? undefined);
        for (const move of each.moves) {
          const mover =
            move === "NO_SHOW"
              ? ({ actor: "SERVICE" } as const)
              : ({ actor: "PARTNER", userId: shop.owner.id, partnerId: shop.id } as const);
          await moveOrder(sql, orderId, move, mover);
        }
      }
      await book();
      const lines = await linesOf(shop.id);
      const counted = await recount(shop);
      const sums = Object.fromEntries(Object.keys(counted).map((account) => [account, sumOf(lines, account)]));
      const hand = byHand.CORRECTION + byHand.PAYOUT;
      expect({ ...sums, BANK: sumOf(lines, "BANK"), ADJUSTMENTS: sumOf(lines, "ADJUSTMENTS") }).toEqual({
        ...counted,
        BALANCE: counted.BALANCE + hand,
        BANK: 0 - byHand.PAYOUT,
        ADJUSTMENTS: 0 - byHand.CORRECTION,
      });
      const [balance] = await sql<{ minor: number }[]>`
        select balance_minor as minor from ledger_balances where partner_id = ${shop.id}::uuid`;
      expect(balance?.minor ?? 0).toBe(counted.BALANCE + hand);

      await sql`update ledger_state set position = (select dropped_position from event_log)`;
      await book();
      expect(await linesOf(shop.id)).toEqual(lines);
    }),
    { numRuns: 12 },
  );
});
