import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import pg from "pg";
import { OrderSqlPlan } from "../messages.js";
import { answerParent, perSecond } from "./answer.js";

// Places orders in one session, one after the other: by the service's function, or by one statement that writes the same rows and
// checks nothing. The CPU time is that of the session's process of Postgres.

const BARE = `
  with sold as (
    update boxes
    set quantity_available = quantity_available - 1, quantity_reserved = quantity_reserved + 1, updated_at = now()
    where id = ($3::uuid[])[1]
    returning id, title, price_minor, pickup_window_start, pickup_window_end
  ), placed as (
    insert into orders (
      user_id, partner_id, address, total_minor, commission_percent, commission_minor, pickup_code, pickup_window_start,
      pickup_window_end, estimated_ready_at, no_show_at
    )
    select $1::uuid, $2::uuid, $5::text, $4::bigint, 10, 2499, $8::text, pickup_window_start, pickup_window_end,
           pickup_window_start, pickup_window_end
    from sold
    returning id
  ), item as (
    insert into order_items (order_id, position, box_id, name, price_minor, qty)
    select placed.id, 1, sold.id, sold.title, sold.price_minor, 1 from placed, sold
  ), event as (
    insert into order_events (order_id, position, actor_id, actor_role, to_status)
    select id, 1, $1::uuid, 'CUSTOMER', 'ACCEPTED' from placed
  ), fact as (
    insert into new_events (id, type, partner_id, data)
    select id, 'order.placed', $2::uuid, jsonb_build_object(
      'orderId', id, 'amountDueCents', $4::bigint, 'commissionCents', 2499, 'takenElsewhere', false
    )
    from placed
  ), kept_key as (
    insert into idempotency_keys (user_id, key, fingerprint, order_id)
    select $1::uuid, $6::text, $7::bytea, id from placed
  ), staged as (
    insert into staged_jobs (queue, payload)
    select 'fan-out', jsonb_build_object('event', 'ORDER_PLACED', 'subjectId', id) from placed
  )
  select case when id is not null then 'PLACED' end as outcome from placed`;

const CHECKED = `
  select place_order(
    $1::uuid, $2::uuid, $3::uuid[], '{1}', $4::bigint, $5::text, null, $6::text, $7::bytea, $8::text, null
  ) ->> 'outcome' as outcome`;

const client = new pg.Client(process.env["DATABASE_URL"]);
await client.connect();
const session = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
const pid = session.rows[0]?.pid ?? 0;
// both are planned once
await client.query("set plan_cache_mode = force_generic_plan");
// So many that each places an order or two: a call reads its buyer's orders of a month, and real ones have few.
const { rows: buyers } = await client.query<{ id: string }>(
  `insert into users (service_id, phone, first_name)
   select 'SF-buyer-' || n, '+7' || (9200000000 + n), 'Пётр' from generate_series(1, 50000) n
   returning id`,
);
await client.query("vacuum analyze users");
let turn = 0;

/** CPU time of the session's process, in µs, from /proc. */
function cpuMicros(): number {
  const [nanoseconds = ""] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1_000;
}

answerParent(OrderSqlPlan, async ({ how, seconds, boxes, totalMinor }) => {
  const [name, text] = how === "function" ? ["checked", CHECKED] : ["bare", BARE];
  let orders = 0;
  const order = async () => {
    turn += 1;
    const box = boxes[turn % boxes.length];
    const values = [
      buyers[turn % buyers.length]?.id,
      box?.partnerId,
      [box?.id],
      totalMinor,
      "Тверская улица, 1",
      randomUUID(),
      randomBytes(32),
      "000000",
    ];
    const { rows } = await client.query<{ outcome: string }>({ name, text, values });
    if (rows[0]?.outcome !== "PLACED") throw new Error(`an order was refused: ${String(rows[0]?.outcome)}`);
    orders += 1;
  };
  const before = cpuMicros();
  const rate = await perSecond(1, seconds, order);
  return { perSecond: rate, cpuMicros: (cpuMicros() - before) / orders };
});
