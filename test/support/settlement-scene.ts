import { afterAll } from "@jest/globals";
import { parse } from "csv-parse/sync";
import { addDays } from "../../lib/domain/days.js";
import { sql } from "../../sql/db.js";
import { makeDueStatements } from "../../workers/ledger.js";
import { startApi } from "./api.js";
import { admin, bakery, type Bakery } from "./cast.js";
import { book, openLedgerFrom, sell } from "./ledger.js";
import { disconnect } from "./queue-worker.js";
import { task } from "./task.js";

// The set-up of tests of settlements: the API, an admin, and bakeries with statements of the last two months.

export const admins = "/api/v1/admin/settlements";
export const own = "/api/v1/partners/me/statements";

export const { client, stop } = await startApi();
export const boss = await admin(client);

const [months] = await sql<{ last: string; before: string }[]>`
  select (month_of(now(), 'Europe/Moscow') - interval '1 month')::date::text as last,
         (month_of(now(), 'Europe/Moscow') - interval '2 months')::date::text as before`;

/** The first day of last month, and of the one before. */
export const { last, before } = months!;

afterAll(async () => {
  await stop();
  await disconnect();
});

/** Noon in Moscow on the 11th of a month. */
export const noon = (month: string) => new Date(`${addDays(month, 10)}T09:00:00Z`);

/** A bakery with orders of 100 and 200 in each of the last two months, and their statements. */
export async function settledBakery(): Promise<Bakery> {
  const shop = await bakery(client);
  await openLedgerFrom(before);
  for (const month of [before, last]) for (const price of [100, 200]) await sell(client, shop, price, noon(month));
  await book();
  await makeDueStatements(task({ task: "make-statements" }));
  return shop;
}

export const csvOf = (text: string) => parse(text, { columns: true, record_delimiter: "\r\n" });
