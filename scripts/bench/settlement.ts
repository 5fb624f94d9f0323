import pg from "pg";
import type { Measure } from "./chapter.js";
import { compare, type Contender } from "./compare.js";
import { makeDatabase } from "./database.js";
import { Rate, type SettlementPlan } from "./messages.js";
import { print } from "./report.js";

/** A quarter of a million orders, and a fifth of that with `--quick`; `BENCH_ORDERS` says how many instead. */
const ORDERS_PER_SAMPLE = 1_000;
const ORDERS_PER_PARTNER = 500;
const CHUNKS = 30;

/** $1: the number of partners. */
const PARTNERS = `
  with city as (
    insert into cities (id, name, timezone) values ('bench', 'Bench', 'Europe/Moscow') returning id
  )
  insert into partners (slug, name, city_id, address, latitude, longitude, status, activated_at)
  select 'bakery-' || n, 'Bakery ' || n, city.id, 'Тверская улица, ' || n, 55.7, 37.6, 'ACTIVE', now()
  from city, generate_series(1, $1::integer) n`;

/**
 * $1: the first order's number, $2: the last one's, $3: the number of all. Orders come in the order of their time, those of a few
 * partners more often; each has four lines, and every tenth a discount.
 */
const LINES = `
  insert into ledger_entries (transaction_id, partner_id, account, kind, amount_minor, month, occurred_at, order_id, event_id)
  select o.id, o.partner_id, line.account, line.kind, line.amount, o.month, o.at, o.id, o.id
  from (
    select lpad(to_hex(sold.n), 32, '0')::uuid as id, p.id as partner_id, sold.n % 10 = 0 as discounted, m.month,
           m.month::timestamptz + interval '27 days' * (sold.n::double precision / $3::integer) as at
    from (
      select n, 1 + floor((select count(*) from bench_partners) * power(random(), 1.5))::integer as partner_n
      from generate_series($1::integer, $2::integer) as n
    ) as sold
    join bench_partners p on p.n = sold.partner_n
    cross join (select (date_trunc('month', now()) - interval '1 month')::date as month) as m
  ) as o
  cross join lateral (
    values
      ('SALES'::ledger_account, 'SALE'::ledger_kind, -24990::bigint),
      ('TILL', 'SALE', case when o.discounted then 22491 else 24990 end),
      ('BALANCE', 'PROMO', case when o.discounted then 2499 end),
      ('BALANCE', 'COMMISSION', -3749),
      ('COMMISSION', 'COMMISSION', 3749)
  ) as line (account, kind, amount)
  where line.amount is not null
  order by o.at, o.id`;

/** Creates a database with a month's ledger, on the same server. */
async function makeMonth(databaseUrl: string, orders: number): Promise<string> {
  const url = await makeDatabase(databaseUrl, "bench_month");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // the lines add up to zero, so the trigger need not check them
    await client.query("set session_replication_role = replica");
    await client.query(PARTNERS, [Math.ceil(orders / ORDERS_PER_PARTNER)]);
    await client.query("create table bench_partners as select id, row_number() over (order by id) as n from partners");
    await client.query("create unique index on bench_partners (n)");
    await client.query("analyze");
    for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
      const first = Math.floor((orders * chunk) / CHUNKS);
      await client.query(LINES, [first, Math.floor((orders * (chunk + 1)) / CHUNKS) - 1, orders]);
    }
    await client.query(`
      insert into ledger_balances (partner_id, balance_minor)
      select partner_id, sum(amount_minor) filter (where account = 'BALANCE') from ledger_entries group by partner_id`);
    await client.query("vacuum analyze");
    await client.query("checkpoint");
  } finally {
    await client.end();
  }
  return url;
}

/** Compares the statements of a month, made by the worker, with one statement that sums and inserts. */
export const makeStatementsOfMonth: Measure = async (lab, _marketplace, effort) => {
  const orders = Number(process.env["BENCH_ORDERS"] ?? effort.samples * ORDERS_PER_SAMPLE);
  print(
    `  ${orders.toLocaleString("en")} orders of ${Math.ceil(orders / ORDERS_PER_PARTNER).toLocaleString("en")} partners`,
  );
  const url = await makeMonth(lab.databaseUrl, orders);
  const program = await lab.start("scripts/bench/programs/settlement", {
    DATABASE_URL: url,
    DATABASE_TIMEOUT_MS: "600000",
  });
  const contender = (name: string, how: SettlementPlan["how"]): Contender => ({
    name,
    measure: () => program.ask({ how } satisfies SettlementPlan, Rate),
  });
  const against = contender("insert … group by alone, statements", "bare");
  await compare(contender("the worker, statements", "worker"), [{ against, atLeast: 0.9 }], effort);
};
