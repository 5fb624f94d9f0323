import pg from "pg";
import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { log } from "../../../lib/process/log.js";
import { makeDueStatements } from "../../../workers/ledger.js";
import { SettlementPlan } from "../messages.js";
import { answerParent } from "./answer.js";

// Makes the statements of a month as the worker does, or by one statement that only sums and inserts.

const client = new pg.Client({ connectionString: config.DATABASE_URL });
await client.connect();

/** As if the month had just ended. Statements are never deleted, so their triggers are off. */
const FORGET = [
  "set session_replication_role = replica",
  "truncate statements, statement_files",
  "delete from staged_jobs",
  "reset session_replication_role",
  `update ledger_state
   set open_month = date_trunc('month', now()) - interval '1 month', next_month = date_trunc('month', now()) - interval '1 month',
       last_number = 0`,
];

/** The same figures of the same lines, in a table of the same shape. */
const BARE_TABLE = "create table if not exists bare_statements (like statements including all)";
const BARE = `
  insert into bare_statements (
    number, partner_id, partner_name, month, zone, from_at, until_at, currency, orders, sales_minor, till_minor,
    own_promo_minor, platform_promo_minor, commission_minor, earlier_minor, corrections_minor, payouts_minor, opening_minor,
    closing_minor
  )
  select row_number() over (), partner_id, 'Bakery', month, 'UTC', month, month + interval '1 month', 'RUB',
         count(*) filter (where account = 'SALES'), coalesce(- sum(amount_minor) filter (where account = 'SALES'), 0),
         coalesce(sum(amount_minor) filter (where account = 'TILL'), 0),
         coalesce(sum(amount_minor) filter (where account = 'PROMO'), 0),
         coalesce(sum(amount_minor) filter (where account = 'BALANCE' and kind = 'PROMO'), 0),
         coalesce(sum(amount_minor) filter (where account = 'COMMISSION'), 0), 0,
         coalesce(sum(amount_minor) filter (where account = 'BALANCE' and kind = 'CORRECTION'), 0),
         coalesce(sum(amount_minor) filter (where account = 'BALANCE' and kind = 'PAYOUT'), 0), 0,
         coalesce(sum(amount_minor) filter (where account = 'BALANCE'), 0)
  from ledger_entries
  where month = (date_trunc('month', now()) - interval '1 month')::date
  group by partner_id, month`;

const Totals = z.object({ count: z.coerce.number(), closing: z.string() });

async function totalsOf(table: "statements" | "bare_statements") {
  const { rows } = await client.query(`select count(*), sum(closing_minor)::text as closing from ${table}`);
  return Totals.parse(rows[0]);
}

async function make(how: SettlementPlan["how"]): Promise<void> {
  if (how === "bare") await client.query(BARE);
  else await makeDueStatements({ log, progress: () => undefined, signal: new AbortController().signal });
}

let expected: z.output<typeof Totals> | undefined;

answerParent(SettlementPlan, async ({ how }) => {
  await client.query(BARE_TABLE);
  await client.query("truncate bare_statements");
  for (const statement of FORGET) await client.query(statement);
  const start = performance.now();
  await make(how);
  const seconds = (performance.now() - start) / 1_000;
  const totals = await totalsOf(how === "bare" ? "bare_statements" : "statements");
  expected ??= totals;
  if (totals.count !== expected.count || totals.closing !== expected.closing)
    throw new Error(`the statements differ: ${JSON.stringify({ totals, expected })}`);
  return { perSecond: totals.count / seconds };
});
