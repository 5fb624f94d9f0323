import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { seedMarketplace } from "../../scripts/seed/marketplace.js";
import { migrate } from "../../sql/migrate.js";
import { startOwnPostgres } from "../support/own-postgres.js";
import { recordPlans, type Executed } from "../support/plans.js";
import { task } from "../support/task.js";
import type { EventKind } from "../../queues/fan-out.js";
import type { CallerName, Scene } from "../api/authorisation/scene.js";

/** A share of a million orders; `npm run plans` takes all of them, and prints the plans. */
const { TEST_SCALE } = process.env;
const scale = Number(TEST_SCALE ?? 0.1);

/** More than any page, cart or batch has, and far less than a big table. */
const MOST_ROWS = 1_500;

/** Seeding a million orders takes some minutes, and many on a slow machine. */
const SEEDING_LIMIT_MS = 3_600_000;

/** The tables that upkeep deletes old rows of, but for small ones. */
const PURGED = [
  "action_counts",
  "ad_batches",
  "data_exports",
  "files",
  "geocodes",
  "idempotency_keys",
  "menu_imports",
  "notification_deliveries",
  "notifications",
  "otp",
  "partners",
  "pos_events",
  "pos_syncs",
  "refresh_tokens",
  "staff_invitations",
  "staged_jobs",
  "webhook_deliveries",
];

/** Fills the event log: events of a thousand partners, and some of the platform. */
const EVENTS = `do $$ begin
  insert into new_events (type, partner_id, data)
  select 'box.back', case when p.n % 10 > 0 then p.id end, '{}'
  from (select row_number() over () as n, id from (select id from partners limit 1000) chosen) p, generate_series(1, 20);
  perform number_events(20000);
end $$`;

/** Fills the ledger of a thousand partners, and makes statements of five thousand. */
const LEDGER = `do $$ begin
  insert into ledger_entries (transaction_id, partner_id, account, kind, amount_minor, month, occurred_at)
  select t.id, t.partner_id, line.account, 'SALE', line.amount, date_trunc('month', now())::date, now()
  from (select new_id() as id, p.id as partner_id from (select id from partners limit 1000) p, generate_series(1, 10)) t
  cross join (values ('SALES'::ledger_account, -100::bigint), ('BALANCE', 100)) as line (account, amount);
  insert into statements (
    number, partner_id, partner_name, month, zone, from_at, until_at, currency, orders, sales_minor, till_minor,
    own_promo_minor, platform_promo_minor, commission_minor, earlier_minor, corrections_minor, payouts_minor, opening_minor,
    closing_minor
  )
  select row_number() over (), p.id, 'Bakery', m.month, 'UTC', m.month, m.month + interval '1 month', 'RUB', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
  from (select id from partners limit 1000) p,
       (select generate_series(date '2020-01-01', date '2020-05-01', interval '1 month')::date as month) m;
  update ledger_state set last_number = (select max(number) from statements);
end $$`;

/** Often enough for a prepared statement to settle on one plan. */
const REPETITIONS = 7;

// the tests below are generated from these modules, which read the configuration
const postgres = await startOwnPostgres();
Object.assign(process.env, { DATABASE_URL: postgres.url, RATE_LIMIT_DISABLED: "1" });
const { startApi } = await import("../support/api.js");
const { endpoints } = await import("../../api/app.js");
const { expectations } = await import("../api/authorisation/expectations.js");
const { setScene } = await import("../api/authorisation/scene.js");
const { signAccessToken } = await import("../../lib/security/tokens.js");
const { closeDatabase } = await import("../../sql/db.js");
const { closeSignals } = await import("../../sql/signals.js");
const { fanOutEvent } = await import("../../workers/fan-out.js");
const { deliverPush } = await import("../../workers/push.js");
const { config } = await import("../../lib/process/config.js");
const { tasks, runUpkeep } = await import("../../workers/upkeep.js");

let plans: Awaited<ReturnType<typeof recordPlans>>;
let big: Set<string>;
let api: Awaited<ReturnType<typeof startApi>>;
let scene: Scene;
/** The scene with the busiest customer and the busiest partner. */
let busyScene: Scene;

beforeAll(async () => {
  await migrate(postgres.url);
  await seedMarketplace(postgres.url, scale);
  await postgres.ask(EVENTS);
  await postgres.ask(LEDGER);
  await postgres.ask("analyze");
  plans = await recordPlans(postgres);
  big = await bigTables();
  api = await startApi();
  scene = await setScene(api.client);
  busyScene = await busy();
}, SEEDING_LIMIT_MS);

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
  await plans.close();
  await postgres.stop();
});

async function bigTables(): Promise<Set<string>> {
  const sizes = await postgres.ask<{ name: string }>(
    "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and reltuples > 4000",
  );
  return new Set(sizes.map(({ name }) => name));
}

async function busy(): Promise<Scene> {
  const signedIn = async (userId: string) => api.client.as(await signAccessToken({ userId, scope: "USER" }));
  const [customer] = await postgres.ask<{ id: string }>(
    "select user_id as id from orders group by 1 order by count(*) desc limit 1",
  );
  const [partner] = await postgres.ask<{ id: string; owner: string }>(
    `select id, owner_id as owner from partners
     where id = (select partner_id from orders group by 1 order by count(*) desc limit 1)`,
  );
  const [order] = await postgres.ask<{ id: string; box: string }>(
    `select o.id, i.box_id as box from orders o join order_items i on i.order_id = o.id where o.partner_id = '${partner!.id}'
     order by o.id desc limit 1`,
  );
  return {
    ...scene,
    callers: { ...scene.callers, customer: await signedIn(customer!.id), bakery: await signedIn(partner!.owner) },
    bakeryId: partner!.id,
    boxId: order!.box,
    orderId: order!.id,
  };
}

/** Descriptions of the scans that read too much. */
const excesses = (executed: readonly Executed[]) => [
  ...new Set(
    executed.flatMap(({ query, scans }) =>
      scans
        .filter(({ table, how, rows }) => big.has(table) && (how === "Seq Scan" || rows > MOST_ROWS))
        .map(({ table, how, rows }) => `${how} of ${table}, ${rows} rows: ${query}`),
    ),
  ),
];

/** The callers that are admitted and for whom the request makes sense. */
function askers(name: string): CallerName[] {
  const { auth } = endpoints.find(({ method, path }) => `${method.toUpperCase()} ${path}` === name)!;
  if (auth === "ADMIN" || auth === "LOCATION_WRITER" || auth === "OBSERVER") return ["admin"];
  const refused = Object.keys(expectations[name]!.except ?? {});
  return (["bakery", "customer", "admin", "anonymous"] as const).filter((caller) => !refused.includes(caller));
}

/** Fails on scans that read too much; prints all scans with TEST_SCALE. */
function examine(name: string, executed: readonly Executed[]): void {
  if (TEST_SCALE !== undefined) {
    const most = new Map<string, number>();
    for (const { query, scans } of executed) {
      for (const { table, how, rows } of scans) {
        const read = `  ${table}: ${how}\n      in ${query.slice(0, 120)}`;
        most.set(read, Math.max(rows, most.get(read) ?? 0));
      }
    }
    const lines = [...most].map(([read, rows]) => `${read}\n      at most ${rows} rows\n`);
    process.stdout.write(`\n${name}\n${lines.join("")}`);
  }
  expect(executed).not.toEqual([]);
  expect(excesses(executed)).toEqual([]);
}

async function ask(name: string, stage: Scene): Promise<Executed[]> {
  const { prepare, ask } = expectations[name]!;
  const preparedId = (await prepare?.(stage)) ?? "";
  await plans.take();
  for (let n = 0; n < REPETITIONS; n += 1) {
    for (const caller of askers(name)) await ask(stage.callers[caller], stage, preparedId);
  }
  return plans.take();
}

const isReport = (name: string) => name.includes("/analytics");
/** Deletes the caller's account, after which no request would work. */
const farewell = "DELETE /api/v1/users/me";
/** Reads no rows. */
const configured = "GET /api/v1/notifications/vapid-public-key";

describe("on a big database a request neither scans a big table nor reads more than it returns", () => {
  const others = (name: string) => !isReport(name) && name !== farewell && name !== configured;
  test.each(Object.keys(expectations).filter(others))("%s", async (name) => {
    examine(name, [...(await ask(name, scene)), ...(name.startsWith("GET") ? await ask(name, busyScene) : [])]);
  });
});

describe("a report reads only orders and boxes of its period and its partner", () => {
  test.each(Object.keys(expectations).filter(isReport))("%s", async (name) => {
    const path = name.replace("GET ", "").replace(":id", busyScene.bakeryId);
    const admin = path.includes("/admin/");
    const caller = busyScene.callers[admin ? "admin" : "bakery"];
    const ofOne = !admin || path.includes(busyScene.bakeryId);
    for (const partner of ofOne ? [""] : ["", `partnerId=${busyScene.bakeryId}`]) {
      const whose = partner === "" && !ofOne ? "true" : `partner_id = '${busyScene.bakeryId}'`;
      const [there] = await postgres.ask<{ orders: string; boxes: string }>(`
        select (select count(*) from orders where created_at > now() - interval '31 days' and ${whose}) as orders,
               (select count(*) from boxes where created_at > now() - interval '31 days' and ${whose}) as boxes`);
      await plans.take();
      for (let n = 0; n < REPETITIONS; n += 1) await caller.get(`${path}?${partner}`);
      const executed = await plans.take();
      expect(executed).not.toEqual([]);
      for (const table of ["orders", "order_items", ...(path.includes("listing") ? ["boxes"] : [])]) {
        const scans = executed.flatMap((one) => one.scans.filter((scan) => scan.table === table));
        expect(scans.filter(({ how }) => how === "Seq Scan")).toEqual([]);
        const most = Number(table === "boxes" ? there!.boxes : there!.orders);
        expect([table, scans.filter(({ rows }) => rows > most)]).toEqual([table, []]);
      }
    }
  });
});

describe("a report reads no orders and boxes of days that are rolled up", () => {
  const ofAll = Object.keys(expectations).filter((name) => isReport(name) && !name.includes(":id"));

  const zone = config.DEFAULT_TIMEZONE;
  const today = `(now() at time zone '${zone}')::date`;

  beforeAll(async () => {
    // over a connection whose plans are not logged, as there are many
    await postgres.ask(`
      do $$ begin
        for n in 1..365 loop
          perform roll_up(${today} - n, '${zone}');
        end loop;
      end $$`);
    await postgres.ask("vacuum analyze");
  }, SEEDING_LIMIT_MS);

  test.each(ofAll)("%s", async (name) => {
    const path = name.replace("GET ", "");
    const caller = busyScene.callers[path.includes("/admin/") ? "admin" : "bakery"];
    const [there] = await postgres.ask<{ orders: string; boxes: string }>(`
      select (select count(*) from orders where created_at >= start_of_day(${today}, '${zone}')) as orders,
             (select count(*) from boxes where created_at >= start_of_day(${today}, '${zone}')) as boxes`);
    await plans.take();
    for (let n = 0; n < REPETITIONS; n += 1) await caller.get(`${path}?period=1y`);
    const scans = (await plans.take()).flatMap((one) => one.scans);
    expect(scans).not.toEqual([]);
    for (const table of ["orders", "order_items", ...(path.includes("listing") ? ["boxes"] : [])]) {
      const most = Number(table === "boxes" ? there!.boxes : there!.orders);
      expect([table, scans.filter((scan) => scan.table === table && scan.rows > most)]).toEqual([table, []]);
    }
  });
});

/**
 * Fills the tables of upkeep that the made-up marketplace leaves empty: with thousands of rows that are kept, and a hundred to delete. Not
 * rate_counters: it holds some minutes of requests, and an index by their end would cost every request more than reading it
 * costs the purge.
 */
const KEPT = `do $$ begin
  create temp table kept as
  select n, now() - case when n <= 100 then interval '200 days' else interval '1 minute' * (n % 60) end as at,
         now() + case when n <= 100 then interval '-2 days' else interval '1 day' end as ends_at
  from generate_series(1, 10000) as n;
  create temp table some_partners as select row_number() over () as n, id from (select id from partners limit 10000) p;
  create temp table some_users as select row_number() over () as n, id from (select id from users limit 10000) u;
  create temp table some_boxes as select row_number() over () as n, id from (select id from boxes limit 10000) b;
  create temp table some_orders as select row_number() over () as n, id, user_id from (select id, user_id from orders limit 10000) o;

  update boxes b
  set repeat_days = '{1,2,3,4,5,6,7}', repeat_until = now() + case when n <= 100 then interval '2 days' else interval '-10 days' end
  from some_boxes s
  where b.id = s.id;
  insert into idempotency_keys (user_id, key, fingerprint, order_id, created_at)
  select o.user_id, 'kept-' || n, '\\x00', o.id, k.at from kept k join some_orders o using (n);
  insert into action_counts (action, times, ends_at) select 'kept-' || n, 1, ends_at from kept;
  insert into ad_campaigns (name, placements, budget_minor, status, ends_at)
  select 'kept', '{home}', 1, case when n % 2 = 0 then 'COMPLETED' else 'ACTIVE' end::campaign_status, ends_at from kept;
  insert into ad_batches (
    id, day, banner_ids, impressions, clicks, invalid_impressions, invalid_clicks, created_at, applied_at
  )
  select gen_random_uuid(), at::date, '{}', '{}', '{}', '{}', '{}', at, at from kept;
  insert into data_exports (user_id, name, status, settled_at, expires_at)
  select u.id, 'kept-' || n, 'READY', k.at, now() + interval '1 day' from kept k join some_users u using (n);
  insert into files (user_id, name, status, content_type, size, unused_since, settled_at)
  select u.id, 'kept-' || n, 'READY', 'image/webp', 1, now(), k.at from kept k join some_users u using (n);
  insert into geocodes (address_key, address, status, asked_at, expires_at)
  select 'kept-' || n, 'kept', 'NOT_FOUND', at, ends_at from kept;
  insert into menu_imports (partner_id, status, file_key, size, columns, delimiter, position, lines, created_at, settled_at)
  select (select id from some_partners p where p.n = 1 + k.n % 4000), 'DONE', 'kept-' || n, 1, '{name}', ',', 1, 1, at, at from kept k;
  insert into pos_credentials (partner_id, adapter, account, encrypted, next_sync_at)
  select p.id, 'generic', 'kept-' || n, '', k.ends_at from kept k join some_partners p using (n);
  insert into pos_events (partner_id, provider, account, event_id, change, status, received_at, settled_at)
  select (select id from some_partners p where p.n = 1 + k.n % 4000), 'generic', 'kept', 'kept-' || n, '{}', 'PROCESSED', at, at from kept k;
  insert into pos_syncs (partner_id, status, created_at, settled_at)
  select (select id from some_partners p where p.n = 1 + k.n % 4000), 'DONE', at, at from kept k;
  insert into staff_invitations (partner_id, phone, created_at)
  select (select id from some_partners p where p.n = 1 + k.n % 4000), '+7' || (7000000000 + n), at from kept k;
  insert into notifications (id, user_id, kind, status)
  select overlay(new_id()::text placing left(first_id_at(k.at)::text, 13) from 1)::uuid, u.id, 'ORDER_ACCEPTED', 'SENT'
  from kept k join some_users u using (n);
  insert into webhook_endpoints (url, secret, position) values ('kept', '', 0);
  insert into webhook_deliveries (endpoint_id, position, event_id, type, version, at, data, status, next_attempt_at, created_at)
  select w.id, k.n, gen_random_uuid(), 'box.back', 1, k.at, '{}', 'SENT', null, k.at
  from kept k cross join webhook_endpoints w
  where w.url = 'kept';
  insert into notification_deliveries (notification_id, address_digest, device_id, platform, status)
  select id, sha256('kept'), user_id, 'android', 'SENT' from notifications order by id limit 10000;
end $$`;

describe("an upkeep task does not read too much", () => {
  beforeAll(async () => {
    await postgres.ask(KEPT);
    await postgres.ask("vacuum analyze");
    big = await bigTables();
  }, SEEDING_LIMIT_MS);

  test("the tables that upkeep purges are big", () => {
    expect([...big]).toEqual(expect.arrayContaining(PURGED));
  });

  test.each(Object.keys(tasks))("%s", async (name) => {
    await plans.take();
    await runUpkeep(task({ task: name }));
    examine(name, await plans.take());
  });
});

describe("a fan-out does not read too much", () => {
  /** Repeats an event's fan-out until prepared statements have settled on a plan, and examines the plans. */
  async function examineEvent(event: EventKind, subjectId: string, after: readonly (string | null)[] = [null]) {
    const executed: Executed[] = [];
    for (const last of Array.from({ length: REPETITIONS }, () => after).flat()) {
      // as if the notifications before were sent some days ago
      await postgres.ask("update staged_jobs set done_at = now() where queue = 'push' and done_at is null");
      await postgres.ask(`
        update notifications
        set id = overlay(id::text placing left(first_id_at(now() - interval '3 days')::text, 13) from 1)::uuid
        where box_id = '${subjectId}' and id > first_id_at(now() - interval '1 day')`);
      await plans.take();
      await fanOutEvent(task({ event, subjectId, after: last }));
      executed.push(...(await plans.take()));
    }
    examine(event, executed);
  }

  test.each([
    "ORDER_PLACED",
    "ORDER_READY",
    "ORDER_COMPLETED",
    "ORDER_CANCELLED",
    "ORDER_NO_SHOW",
    "PICKUP_SOON",
  ] as const)("%s", (event) => examineEvent(event, busyScene.orderId));

  test("PARTNER_SUSPENDED", () => examineEvent("PARTNER_SUSPENDED", busyScene.bakeryId));

  test.each(["REVIEW_PUBLISHED", "REVIEW_APPROVED"] as const)("%s", async (event) => {
    const [review] = await postgres.ask<{ id: string }>("select id from reviews limit 1");
    await examineEvent(event, review!.id);
  });

  test("of a box, to the followers of the most popular partner", async () => {
    const [loved] = await postgres.ask<{ id: string; fans: string; middle: string }>(`
      select partner_id as id, count(*) as fans, (array_agg(id order by id))[count(*) / 2] as middle
      from favorites where partner_id is not null group by 1 order by count(*) desc limit 1`);
    expect(Number(loved!.fans)).toBeGreaterThan(5_000);
    await postgres.ask(`
      insert into boxes (
        partner_id, city_id, title, price_minor, quantity_available, pickup_window_start, pickup_window_end
      )
      select id, city_id, 'Для всех', 10000, 5, now(), now() + interval '2 hours' from partners where id = '${loved!.id}'`);
    const [box] = await postgres.ask<{ id: string }>("select id from boxes where title = 'Для всех'");
    await postgres.ask(`update partners set status = 'ACTIVE' where id = '${loved!.id}'`);
    await examineEvent("BOX_LISTED", box!.id, [null, loved!.middle]);
    const [created] = await postgres.ask<{ count: string }>(
      `select count(*) from notifications where box_id = '${box!.id}'`,
    );
    expect(Number(created!.count)).toBeGreaterThan(500);
    await postgres.ask(`
      insert into favorites (user_id, box_id) select user_id, '${box!.id}' from favorites where partner_id = '${loved!.id}'`);
    await examineEvent("BOX_BACK", box!.id);
  });

  test("sending a push", async () => {
    const waiting = await postgres.ask<{ id: string }>(`
      insert into notifications (user_id, kind)
      select user_id, 'LEVEL_REACHED' from devices limit ${REPETITIONS * 2} returning id`);
    await plans.take();
    for (const { id } of waiting) await deliverPush(task({ notificationId: id })).catch(() => undefined);
    examine("push", await plans.take());
  });
});

test("deleting the account of the busiest customer or partner does not read too much", async () => {
  examine(farewell, await ask(farewell, busyScene));
});
