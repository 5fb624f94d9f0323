import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { newServiceId } from "../../lib/domain/service-id.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { runUpkeep, tasks } from "../../workers/upkeep.js";
import { task } from "../support/task.js";

/** Tables that grow with use and are kept. */
const record = [
  ...[
    "users",
    "notification_preferences",
    "devices",
    "favorites",
    "promo_attachments",
    "api_keys",
    "audit_events",
    "bulk_actions",
    "webhook_endpoints",
  ],
  ...["partners", "partner_staff", "menu_categories", "menu_items", "boxes", "box_items"],
  ...["orders", "order_items", "order_events", "reviews", "partner_ratings", "commission_rates", "cities"],
  ...["promo_codes", "promo_redemptions", "loyalty_accounts", "loyalty_entries"],
  ...["ad_campaigns", "ad_banners", "ad_banner_days", "pos_credentials", "pos_inboxes", "pos_orders"],
  ...["ledger_entries", "ledger_balances", "statements", "statement_files"],
  ...["rollup_days", "rollup_hours", "rollup_items", "rollup_partners"],
];

/** Tables with a constant number of rows, and those that the nightly rollup empties. */
const constant = [
  ...["geocoder_pace", "heartbeats", "queue_settings", "schema_versions", "rollup_changes", "upkeep_runs"],
  "weight_changes",
  // a row for each third party
  "vendor_calls",
  // the state of the event log, and what has no position yet
  ...["event_log", "new_events"],
  "ledger_state",
  // a partition for each day, of which test/sql/events.test.ts drops the old ones
  "events",
];

/** Tables with a retention: the rows that upkeep leaves when one row a day was added for a year. */
const kept = {
  action_counts: 0,
  ad_batches: 1,
  // given up and ready
  data_exports: 1 + 3,
  // dead, refused, unused and never converted
  files: 1 + 1 + 1 + 7,
  // found and not found
  geocodes: 90 + 7,
  idempotency_keys: 1,
  menu_imports: 30,
  notification_deliveries: 180,
  notifications: 180,
  otp: 1,
  pos_events: 30,
  pos_syncs: 30,
  processes: 1,
  queue_minutes: 2,
  rate_counters: 0,
  refresh_tokens: 30,
  sessions: 30,
  staff_invitations: 30,
  // completed and dead
  staged_jobs: 1 + 30,
  webhook_deliveries: 30,
};

let userId: string;
let orderId: string;

beforeAll(async () => {
  const [row] = await sql<{ userId: string; orderId: string }[]>`
    with buyer as (
      insert into users (service_id, phone) values (${newServiceId()}, '+79990001144') returning id
    ), city as (
      insert into cities (id, name, timezone) values ('omsk', 'omsk', 'Asia/Omsk') returning id
    ), seller as (
      insert into partners (slug, name, city_id, address, latitude, longitude) select 'year', 'Year', id, '-', 0, 0 from city returning id
    ), purchase as (
      insert into orders (
        user_id, partner_id, status, total_minor, commission_percent, commission_minor, pickup_code, estimated_ready_at, no_show_at
      )
      select buyer.id, seller.id, 'COMPLETED', 0, 15, 0, '000000', now(), now() from buyer, seller
      returning id, user_id
    )
    select user_id as "userId", id as "orderId" from purchase`;
  ({ userId, orderId } = row!);
  await sql`insert into webhook_endpoints (url, secret, position) values ('https://example.com', '', 0)`;
  await makeCalendar();
});

afterAll(closeDatabase);

/** Functions for the noons of the last 30 days, with numbers that no other month has, and for ageing tables by a month. */
async function makeCalendar(): Promise<void> {
  await sql`
    create function noons(month integer) returns table (at timestamptz, n integer) language sql as $$
      select now() - interval '12 hours' - interval '1 day' * day, month * 30 + day from generate_series(0, 29) as day
    $$`;
  await sql`
    create function pass_month(kept text[]) returns void language plpgsql as $$
    declare
      aged record;
    begin
      for aged in
        select table_name as name, string_agg(format('%1$I = %1$I - interval ''30 days''', column_name), ', ') as columns
        from information_schema.columns
        where table_schema = 'public' and table_name = any (kept) and data_type = 'timestamp with time zone'
        group by table_name
      loop
        execute format('update %I set %s', aged.name, aged.columns);
      end loop;
      update notifications set id = id_at(created_at, id);
    end
    $$`;
  // an id begins with its time, so an aged row gets another id
  await sql`
    alter table notification_deliveries
      drop constraint notification_deliveries_notification_id_fkey,
      add foreign key (notification_id) references notifications (id) on delete cascade on update cascade`;
  await sql`
    create function id_at(at timestamptz, id uuid default new_id()) returns uuid language sql as $$
      select (left(first_id_at(at)::text, 13) || substr(id::text, 14))::uuid
    $$`;
}

/** Inserts a month's rows into every table with a retention. */
async function bring(month: number): Promise<void> {
  await sql`
    insert into staged_jobs (queue, payload, created_at, done_at, dead_at)
    select 'push', '{}', at, ended.done, ended.dead
    from noons(${month}), lateral (values (at, null::timestamptz), (null, at)) as ended (done, dead)`;
  await sql`
    with sent as (
      insert into notifications (id, user_id, kind, status, created_at)
      select id_at(at), ${userId}::uuid, 'NEW_ORDER', 'SENT', at from noons(${month})
      returning id
    )
    insert into notification_deliveries (notification_id, device_id, platform, address_digest, status)
    select id, gen_random_uuid(), 'web', sha256('address'), 'SENT' from sent`;
  await sql`
    insert into menu_imports (partner_id, status, file_key, size, columns, delimiter, position, lines, created_at, settled_at)
    select partner_id, 'DONE', n::text, 1, '{name}', ',', 0, 0, at, at
    from noons(${month}), orders
    where id = ${orderId}::uuid`;
  await sql`
    insert into pos_events (partner_id, provider, account, event_id, change, status, received_at, settled_at)
    select partner_id, 'generic', '-', n::text, '{}', 'PROCESSED', at, at
    from noons(${month}), orders
    where id = ${orderId}::uuid`;
  await sql`
    insert into pos_syncs (partner_id, status, created_at, settled_at)
    select partner_id, 'DONE', at, at from noons(${month}), orders where id = ${orderId}::uuid`;
  await sql`
    insert into ad_batches (
      id, day, banner_ids, impressions, clicks, invalid_impressions, invalid_clicks, created_at, applied_at
    )
    select gen_random_uuid(), at::date, '{}', '{}', '{}', '{}', '{}', at, at from noons(${month})`;
  await sql`
    insert into otp (phone, code_hash, expires_at, sends, used_at, guesses_since, place)
    select '+7' || (9000000000 + n), '', at, array[at], at, at, '' from noons(${month})`;
  await sql`insert into action_counts (action, times, ends_at) select 'code to ' || n, 1, at from noons(${month})`;
  await sql`
    with login as (
      insert into sessions (id, user_id, created_at) select id_at(at), ${userId}::uuid, at from noons(${month})
      returning id, created_at
    )
    insert into refresh_tokens (digest, session_id, expires_at)
    select sha256(convert_to(id::text, 'UTF8')), id, created_at + interval '30 days' from login`;
  await sql`
    insert into staff_invitations (partner_id, phone, created_at)
    select partner_id, '+7' || (9000000000 + n), at from noons(${month}), orders where id = ${orderId}::uuid`;
  await sql`
    insert into processes (id, role, version, started_at, beat_at, facts)
    select n::text, 'WORKER', '0', at, at, '{}' from noons(${month})`;
  await sql`
    insert into queue_minutes (minute, queue, staged, done, oldest_due_seconds) select at, 'push', 0, 0, 0 from noons(${month})`;
  await sql`
    insert into webhook_deliveries (
      endpoint_id, position, event_id, type, version, at, data, status, next_attempt_at, created_at
    )
    select id, n, new_id(), 'box.back', 1, at, '{}', 'SENT', null, at from noons(${month}), webhook_endpoints`;
  await sql`insert into rate_counters (key, window_end, hits) select 'user ' || n, at, 1 from noons(${month})`;
  await sql`
    insert into idempotency_keys (user_id, key, fingerprint, order_id, created_at)
    select ${userId}::uuid, 'key ' || n, '', ${orderId}::uuid, at from noons(${month})`;
  await sql`
    insert into geocodes (address_key, address, status, latitude, longitude, asked_at, expires_at)
    select answer.status || n, '-', answer.status::geocode_status, answer.place, answer.place, at, at + answer.lasts
    from noons(${month}),
         (values ('FOUND', 1.0, interval '90 days'), ('NOT_FOUND', null, interval '1 day')) as answer (status, place, lasts)`;
  await sql`
    insert into data_exports (user_id, name, status, created_at, settled_at, expires_at)
    select ${userId}::uuid, gen_random_uuid()::text, fate.status::export_status, at,
           case when fate.status = 'READY' then at end, at + fate.lasts
    from noons(${month}), (values ('QUEUED', interval '1 day'), ('READY', interval '3 days')) as fate (status, lasts)`;
  await sql`
    insert into files (user_id, name, status, content_type, size, expires_at, unused_since, created_at, settled_at)
    select ${userId}::uuid, gen_random_uuid()::text, fate.status::file_status, 'image/webp', 1,
           case when fate.status = 'UPLOADING' then at + interval '1 day' end, case when fate.status = 'READY' then at end,
           at, case when fate.status in ('READY', 'REFUSED') then at end
    from noons(${month}), (values ('UPLOADING'), ('REFUSED'), ('READY'), ('STORED')) as fate (status)`;
}

async function countRows(): Promise<Record<string, number>> {
  const rows = await sql<{ name: string; count: number }[]>`
    select table_name as name,
           (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %I', table_name), true, true, '')))[1]::text::integer as count
    from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'
    order by table_name`;
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

test("every table is bounded or listed as kept", async () => {
  expect(Object.keys(await countRows())).toEqual([...record, ...constant, ...Object.keys(kept)].sort());
});

test("after a year of use, upkeep leaves only the rows within their retention", async () => {
  const before = await countRows();
  for (let month = 1; month <= 12; month += 1) {
    await sql`select pass_month(${Object.keys(kept)}::text[])`;
    await bring(month);
    for (const name of Object.keys(tasks)) await runUpkeep(task({ task: name }));
    // those of the latest minute; in each of a month without workers there would be one
    await sql`delete from queue_minutes where queue = 'upkeep'`;
    const after = await countRows();
    const most = Object.entries(kept).filter(([name, rows]) => (after[name] ?? Infinity) > rows);
    expect([month, most]).toEqual([month, []]);
  }
  expect(await countRows()).toEqual({ ...before, ...kept, heartbeats: 1, upkeep_runs: Object.keys(tasks).length });
});
