import pg from "pg";
import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { addDays, daysOf } from "../../../lib/domain/days.js";
import { sql } from "../../../sql/db.js";
import { findDashboard } from "../../../sql/queries/analytics.js";
import { rollUpOneDay } from "../../../workers/rollups.js";
import { RollupPlan } from "../messages.js";
import { answerParent } from "./answer.js";

// Rolls days up as the worker does, or by statements that only group and insert; reads a year's dashboard from rollups or
// from the orders.

const zone = config.DEFAULT_TIMEZONE;
const client = new pg.Client({ connectionString: config.DATABASE_URL });
await client.connect();

/** Minimal hand-written statements for the same figures, in tables of the same shape. */
const BARE_TABLES = `
  create table if not exists bare_days (like rollup_days including all);
  create table if not exists bare_partners (like rollup_partners including all);
  create table if not exists bare_items (like rollup_items including all);
  create table if not exists bare_hours (like rollup_hours including all);
  truncate bare_days, bare_partners, bare_items, bare_hours`;

const within = "id >= first_id_at($2) and id < first_id_at($3) and created_at >= $2 and created_at < $3";
const linesAndWeights = `
  orders o
  join order_items i on i.order_id = o.id
  left join boxes b on b.id = i.box_id
  left join menu_items m on m.id = i.menu_item_id
  where o.id >= first_id_at($2) and o.id < first_id_at($3) and o.created_at >= $2 and o.created_at < $3`;
const BARE_STATEMENTS = [
  `insert into bare_items
   select coalesce(i.box_id, i.menu_item_id), $1::date, o.partner_id, i.box_id is not null, count(*),
          sum(case when o.amount_due_minor = o.total_minor then i.price_minor * i.qty
                   else round(i.price_minor * i.qty * o.amount_due_minor::numeric / o.total_minor)::bigint end),
          coalesce(sum(i.qty) filter (where o.status = 'COMPLETED'), 0), coalesce(min(b.weight_grams), min(m.weight_grams), 0)
   from ${linesAndWeights} and o.status <> 'CANCELLED'
   group by 1, 2, 3, 4`,
  `insert into bare_partners
   select sold.partner_id, $1::date, sold.orders, sold.gmv, sold.commission, coalesce(saved.grams, 0)
   from (
     select partner_id, count(*) as orders, sum(amount_due_minor) as gmv, sum(commission_minor) as commission
     from orders where ${within} and status <> 'CANCELLED' group by 1
   ) sold
   left join (
     select partner_id, sum(picked_up * weight_grams) as grams from bare_items where day = $1::date group by 1
   ) saved using (partner_id)`,
  `insert into bare_hours
   select $1::date, hour, sum(orders), sum(listings)
   from (
     select extract(hour from created_at at time zone '${zone}')::integer as hour, count(*) as orders, 0 as listings
     from orders where ${within} and status <> 'CANCELLED' group by 1
     union all
     select extract(hour from created_at at time zone '${zone}')::integer, 0, count(*) from boxes where ${within} group by 1
   ) parts
   group by 2`,
  `insert into bare_days
   select $1::date, '${zone}', $2, $3, now(), count(*), coalesce(sum(amount_due_minor), 0), coalesce(sum(commission_minor), 0), 0
   from orders where ${within} and status <> 'CANCELLED'`,
];

/** The dashboard's query without rollups. */
const RAW_DASHBOARD = `
  with sold as (
    select partner_id, count(*) as orders, sum(amount_due_minor) as gmv, sum(commission_minor) as commission
    from orders
    where id >= first_id_at($1) and created_at >= $1 and created_at < $2 and status <> 'CANCELLED'
    group by partner_id
  ), saved as (
    select sum(i.qty * coalesce(b.weight_grams, m.weight_grams, 0)) as grams
    from orders o
    join order_items i on i.order_id = o.id
    left join boxes b on b.id = i.box_id
    left join menu_items m on m.id = i.menu_item_id
    where o.id >= first_id_at($1) and o.created_at >= $1 and o.created_at < $2 and o.status = 'COMPLETED'
  )
  select sum(sold.orders)::text as orders, sum(sold.gmv)::text as gmv, sum(sold.commission)::text as commission,
         (count(*) filter (where p.status = 'ACTIVE'))::text as partners, max(saved.grams)::text as grams
  from sold join partners p on p.id = sold.partner_id cross join saved`;

const Raw = z.object({
  orders: z.coerce.number(),
  gmv: z.coerce.number(),
  commission: z.coerce.number(),
  partners: z.coerce.number(),
  grams: z.coerce.number(),
});

const year = daysOf("1y", Date.now(), zone);

async function rawDashboard(): Promise<z.output<typeof Raw>> {
  const { rows } = await client.query(RAW_DASHBOARD, [year.from, year.until]);
  return Raw.parse(rows[0]);
}

async function bareDay(rolled: string): Promise<void> {
  const { rows } = await client.query<{ from: Date; until: Date }>(
    "select start_of_day($1::date, $2) as from, start_of_day($1::date + 1, $2) as until",
    [rolled, zone],
  );
  const bounds = rows[0];
  if (!bounds) throw new Error("a day has no bounds");
  await client.query("begin");
  for (const statement of BARE_STATEMENTS) await client.query(statement, [rolled, bounds.from, bounds.until]);
  await client.query("commit");
}

async function perSecondOf(seconds: number, work: () => Promise<unknown>): Promise<{ perSecond: number }> {
  const start = performance.now();
  let done = 0;
  do {
    await work();
    done += 1;
  } while (performance.now() - start < seconds * 1_000);
  return { perSecond: (done * 1_000) / (performance.now() - start) };
}

let day = year.last;
/** The day before the previous call's, and the latest day again after the earliest. */
function nextDay(): string {
  day = day <= addDays(year.first, 1) ? addDays(year.last, -1) : addDays(day, -1);
  return day;
}

const FORGET = "truncate rollup_days, rollup_partners, rollup_items, rollup_hours";

answerParent(RollupPlan, async ({ how, seconds }) => {
  if (how === "everything") {
    for (let each = year.first; each < year.last; each = addDays(each, 1)) await rollUpOneDay(each, zone);
    await client.query("vacuum analyze");
    const [rolledUp, raw] = [await findDashboard(sql, year, null), await rawDashboard()];
    const same =
      rolledUp.orders === raw.orders && rolledUp.gmvMinor === raw.gmv && rolledUp.commissionMinor === raw.commission;
    if (!same || rolledUp.activePartners !== raw.partners || rolledUp.foodSavedGrams !== raw.grams)
      throw new Error(`the dashboards differ: ${JSON.stringify({ rolledUp, raw })}`);
    return { perSecond: 0 };
  }
  if (how === "worker") {
    await client.query(FORGET);
    return perSecondOf(seconds, () => rollUpOneDay(nextDay(), zone));
  }
  if (how === "bare") {
    await client.query(BARE_TABLES);
    // as in the worker: these tables have no statistics yet
    await client.query("set enable_seqscan = off");
    const rate = await perSecondOf(seconds, () => bareDay(nextDay()));
    await client.query("reset enable_seqscan");
    return rate;
  }
  return perSecondOf(seconds, how === "dashboard" ? () => findDashboard(sql, year, null) : rawDashboard);
});
