import pg from "pg";
import type { Measure } from "./chapter.js";
import { compare, type Contender } from "./compare.js";
import { makeDatabase } from "./database.js";
import { Rate, type RollupPlan } from "./messages.js";

const ORDERS_PER_SAMPLE = 10_000;
const DAYS = 366;

/** 10,000 partners and a year of orders, of 1,500 boxes a day; inserted one day at a time, oldest first. */
const PARTNERS = `
  insert into cities (id, name, timezone) values ('bench', 'Bench', 'Europe/Moscow');
  insert into users (service_id, phone) select 'SF-' || n, '+7' || (9000000000 + n) from generate_series(1, 1000) n;
  insert into partners (slug, name, city_id, address, latitude, longitude, status, activated_at)
  select 'bakery-' || n, 'Bakery ' || n, 'bench', 'Тверская улица, ' || n, 55.7, 37.6, 'ACTIVE', now()
  from generate_series(1, 10000) n;
  create table bench_partners as select id, row_number() over () - 1 as n from partners;
  create unique index on bench_partners (n);
  create table bench_users as select id, row_number() over () - 1 as n from users;
  create unique index on bench_users (n);
  analyze;
  create function bench_id_at(at timestamptz) returns uuid language sql volatile as $$
    select encode(
      overlay(
        overlay(uuid_send(gen_random_uuid()) placing substr(int8send((extract(epoch from at) * 1000)::bigint), 3) from 1 for 6)
        placing '\\x70'::bytea from 7 for 1
      ), 'hex'
    )::uuid
  $$`;

/** $1: the beginning of the day, $2: its number of orders. */
const DAY = [
  `create temp table day_boxes as
   select bench_id_at(at) as id, at, p.id as partner_id, b.n
   from (
     select n, $1::timestamptz + interval '1 day' * (n / 1500.0) as at, floor(10000 * power(random(), 2))::integer as partner_n
     from generate_series(0, 1499) as n
   ) b
   join bench_partners p on p.n = b.partner_n
   order by at`,
  `create temp table day_orders as
   select bench_id_at(o.at) as id, o.at, u.id as user_id, b.partner_id, b.id as box_id,
          case when lot < 0.08 then 'CANCELLED' when lot < 0.11 then 'NO_SHOW' else 'COMPLETED' end::order_status as status
   from (
     select $1::timestamptz + interval '1 day' * (n::double precision / $2::integer) as at, floor(1500 * power(random(), 1.5))::integer as box_n,
            floor(1000 * random())::integer as user_n, random() as lot
     from generate_series(0, $2::integer - 1) as n
     offset 0
   ) o
   join day_boxes b on b.n = o.box_n
   join bench_users u on u.n = o.user_n
   where o.at < now()
   order by o.at`,
  `insert into boxes (
     id, partner_id, city_id, title, price_minor, weight_grams, quantity_available, pickup_window_start, pickup_window_end, created_at
   )
   select id, partner_id, 'bench', 'Вечерний набор', 24990, 1500, 5, at, at + interval '1 day', at from day_boxes where at < now()`,
  `insert into orders (
     id, user_id, partner_id, status, total_minor, commission_percent, commission_minor, pickup_code, estimated_ready_at, no_show_at,
     created_at, updated_at
   )
   select id, user_id, partner_id, status, 24990, 15, 3749, '000000', at, at, at, at from day_orders`,
  `insert into order_items (order_id, position, box_id, name, price_minor, qty)
   select o.id, 1, o.box_id, 'Вечерний набор', 24990, 1 from day_orders o`,
];

/** Creates a database with a year of orders, on the same server. */
async function makeYear(databaseUrl: string, orders: number): Promise<string> {
  const url = await makeDatabase(databaseUrl, "bench_year");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // the rows are valid and no day is rolled up, so triggers need not check or record anything
    await client.query("set session_replication_role = replica");
    await client.query(PARTNERS);
    const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    for (let ago = DAYS; ago >= 0; ago -= 1) {
      const values = [new Date(midnight - ago * 86_400_000), Math.ceil(orders / DAYS)];
      await client.query(DAY[0] ?? "", values.slice(0, 1));
      await client.query(DAY[1] ?? "", values);
      for (const statement of DAY.slice(2)) await client.query(statement);
      await client.query("drop table day_boxes, day_orders");
    }
    await client.query("vacuum analyze");
    await client.query("checkpoint");
  } finally {
    await client.end();
  }
  return url;
}

/** Compares days rolled up by the worker, and a year's dashboard read from them. */
export const rollUpDays: Measure = async (lab, _marketplace, effort) => {
  const orders = effort.samples * ORDERS_PER_SAMPLE;
  const url = await makeYear(lab.databaseUrl, orders);
  const program = await lab.start("scripts/bench/programs/rollups", { DATABASE_URL: url });
  const contender = (name: string, how: RollupPlan["how"]): Contender => ({
    name,
    measure: (seconds) => program.ask({ how, seconds } satisfies RollupPlan, Rate),
  });
  const worker = contender("the worker, days", "worker");
  await compare(worker, [{ against: contender("insert … group by alone, days", "bare"), atLeast: 0.9 }], effort);
  await contender("all of them", "everything").measure(0);
  const dashboard = contender("a year's dashboard", "dashboard");
  await compare(dashboard, [{ against: contender("the same from orders", "raw"), atLeast: 20 }], {
    ...effort,
    warmUpSeconds: 0,
  });
};
