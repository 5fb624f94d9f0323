import { afterAll, expect, test } from "@jest/globals";
import { PermanentError } from "../../lib/process/errors.js";
import { newServiceId } from "../../lib/domain/service-id.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { findHeartbeatAge } from "../../sql/queries/heartbeats.js";
import { countDeadJobs } from "../../sql/outbox.js";
import { runUpkeep } from "../../workers/upkeep.js";
import { idAt } from "../support/past.js";
import { task } from "../support/task.js";

afterAll(closeDatabase);

test("the canary records a heartbeat", async () => {
  expect(await findHeartbeatAge(sql, "canary")).toBeUndefined();
  await runUpkeep(task({ task: "canary" }));
  await runUpkeep(task({ task: "canary" }));
  expect(await findHeartbeatAge(sql, "canary")).toBeLessThan(60);
});

test("completed jobs are purged after their retention, open ones never", async () => {
  await sql`
    insert into staged_jobs (queue, payload, created_at, done_at, dead_at)
    select name, '{}', now() - interval '90 days', done_at, dead_at
    from (values
      ('open', null, null),
      ('done today', now() - interval '23 hours', null),
      ('done before', now() - interval '25 hours', null),
      ('dead lately', null, now() - interval '29 days'),
      ('dead long since', null, now() - interval '31 days')
    ) as jobs (name, done_at, dead_at)`;
  expect([...(await countDeadJobs(sql))]).toEqual(
    expect.arrayContaining(["dead lately", "dead long since"].map((queue) => ({ queue, jobs: 1 }))),
  );
  const run = task({ task: "purge-staged-jobs" });
  await runUpkeep(run);
  const left = await sql<{ queue: string }[]>`select queue from staged_jobs order by queue`;
  expect(left.map(({ queue }) => queue)).toEqual(["dead lately", "done today", "open"]);
  expect(run.lines).toMatchObject([{ rows: 2 }]);
});

test("registrations that were forgotten for 90 days are purged, no others", async () => {
  await sql`insert into cities (id, name, timezone) values ('tula', 'tula', 'Europe/Moscow')`;
  await sql`
    insert into partners (slug, name, city_id, address, latitude, longitude, status, created_at)
    select slug, slug, 'tula', '-', 0, 0, status::partner_status, now() - interval '1 day' * days
    from (values
      ('forgotten', 'PENDING_REVIEW', 91), ('young', 'PENDING_REVIEW', 89), ('rejected', 'REJECTED', 91),
      ('suspended', 'SUSPENDED', 91), ('owned', 'PENDING_REVIEW', 91), ('staffed', 'PENDING_REVIEW', 91),
      ('audited', 'PENDING_REVIEW', 91), ('promoted', 'PENDING_REVIEW', 91)
    ) as registration (slug, status, days)`;
  await sql`
    with owner as (insert into users (service_id, phone) values ('SF-OWNER', '+79990007701') returning id)
    update partners set owner_id = owner.id from owner where slug = 'owned'`;
  await sql`
    with clerk as (insert into users (service_id, phone) values ('SF-CLERK', '+79990007702') returning id)
    insert into partner_staff (user_id, partner_id) select clerk.id, partners.id from clerk, partners where slug = 'staffed'`;
  await sql`insert into audit_events (action, subject_id) select 'PARTNER_OWNER', id from partners where slug = 'audited'`;
  await sql`
    insert into promo_codes (code, discount_percent, partner_id) select 'TULA', 10, id from partners where slug = 'promoted'`;
  const run = task({ task: "purge-registrations" });
  await runUpkeep(run);
  expect(run.lines).toMatchObject([{ rows: 1 }]);
  const left = await sql<{ slug: string }[]>`select slug from partners where city_id = 'tula' order by slug`;
  expect(left.map(({ slug }) => slug)).toEqual([
    ...["audited", "owned", "promoted", "rejected", "staffed", "suspended", "young"],
  ]);
});

test("registrations that were declined or replaced 90 days ago are purged unless they were used", async () => {
  await sql`insert into cities (id, name, timezone) values ('tver', 'tver', 'Europe/Moscow')`;
  await sql`
    insert into partners (slug, name, city_id, address, latitude, longitude, status, owner_left_at, activated_at)
    select slug, slug, 'tver', '-', 0, 0, 'SUSPENDED', now() - interval '1 day' * days, case when active then now() end
    from (values
      ('declined', 91, false), ('declined lately', 89, false), ('approved once', 91, true), ('with a menu', 91, false),
      ('suspended by an admin', null, false)
    ) as registration (slug, days, active)`;
  await sql`insert into menu_categories (partner_id, name) select id, 'Bread' from partners where slug = 'with a menu'`;
  await sql`insert into webhook_endpoints (partner_id, url, secret, position) select id, '', '', 0 from partners where slug = 'declined'`;
  const run = task({ task: "purge-registrations" });
  await runUpkeep(run);
  expect(run.lines).toMatchObject([{ rows: 1 }]);
  const left = await sql<{ slug: string }[]>`select slug from partners where city_id = 'tver' order by slug`;
  expect(left.map(({ slug }) => slug)).toEqual([
    ...["approved once", "declined lately", "suspended by an admin", "with a menu"],
  ]);
});

test("cities that no admin has named and no partner uses are purged after a day", async () => {
  await sql`
    insert into cities (id, name, timezone, created_at, named_at)
    select id, id, 'Europe/Moscow', now() - interval '1 hour' * hours, case when named then now() end
    from (values ('unused', 25, false), ('new', 23, false), ('named', 25, true), ('used', 25, false))
      as city (id, hours, named)`;
  await sql`
    insert into partners (slug, name, city_id, address, latitude, longitude) values ('user', 'User', 'used', '-', 0, 0)`;
  await runUpkeep(task({ task: "purge-registrations" }));
  const left = await sql<{ id: string }[]>`
    select id from cities where id in ('unused', 'new', 'named', 'used') order by id`;
  expect(left.map(({ id }) => id)).toEqual(["named", "new", "used"]);
});

test("idempotency keys and rate counters are purged when they no longer apply", async () => {
  await sql`
    insert into rate_counters (key, window_end, hits)
    values ('now', now(), 1), ('lately', now() - interval '9 minutes', 1), ('before', now() - interval '11 minutes', 1)`;
  await runUpkeep(task({ task: "purge-rate-counters" }));
  const counters = await sql<{ key: string }[]>`select key from rate_counters order by key`;
  expect(counters.map(({ key }) => key)).toEqual(["lately", "now"]);

  await sql`
    with buyer as (
      insert into users (service_id, phone) values ('SF-KEYS', '+79990001122') returning id
    ), city as (
      insert into cities (id, name, timezone) values ('omsk', 'omsk', 'Asia/Omsk') returning id
    ), seller as (
      insert into partners (slug, name, city_id, address, latitude, longitude) select 'keys', 'Keys', id, '-', 0, 0 from city returning id
    ), purchase as (
      insert into orders (user_id, partner_id, total_minor, commission_percent, commission_minor, pickup_code, estimated_ready_at, no_show_at)
      select buyer.id, seller.id, 0, 15, 0, '000000', now(), now() from buyer, seller
      returning id, user_id
    )
    insert into idempotency_keys (user_id, key, fingerprint, order_id, created_at)
    select user_id, name, '', id, now() - age
    from purchase, (values ('young', interval '23 hours'), ('old', interval '25 hours')) as keys (name, age)`;
  await runUpkeep(task({ task: "purge-idempotency-keys" }));
  const keys = await sql<{ key: string }[]>`select key from idempotency_keys`;
  expect(keys).toEqual([{ key: "young" }]);
});

test("ad batches are purged a day after they were added up, or otherwise after their jobs", async () => {
  await sql`
    insert into ad_batches (
      id, day, banner_ids, impressions, clicks, invalid_impressions, invalid_clicks, created_at, applied_at
    )
    select gen_random_uuid(), name::date, '{}', '{}', '{}', '{}', '{}', now() - made, now() - applied
    from (values
      ('2026-01-01', interval '90 days', interval '23 hours'),
      ('2026-01-02', interval '90 days', interval '25 hours'),
      ('2026-01-03', interval '30 days', null),
      ('2026-01-04', interval '32 days', null)
    ) as batches (name, made, applied)`;
  await runUpkeep(task({ task: "purge-ad-batches" }));
  const left = await sql<{ day: string }[]>`select day from ad_batches order by day`;
  expect(left).toEqual([{ day: "2026-01-01" }, { day: "2026-01-03" }]);
});

test("notifications are purged after 180 days, in batches, whatever their status", async () => {
  const day = 24 * 60 * 60 * 1_000;
  const made = (days: number) => idAt(Date.now() - days * day);
  const [young, ...old] = [made(179), made(181), ...Array.from({ length: 5_001 }, (_, n) => made(400 + n))];
  await sql`
    with known as (insert into users (service_id, phone) values (${newServiceId()}, '+79990005533') returning id)
    insert into notifications (id, user_id, kind, status)
    select notification, known.id, 'NEW_ORDER', (array['QUEUED', 'SENT', 'DROPPED']::notification_status[])[1 + n % 3]
    from known, unnest(${[young, ...old]}::uuid[]) with ordinality as notifications (notification, n)`;
  const runs = [task({ task: "purge-notifications" }), task({ task: "purge-notifications" })];
  await Promise.all(runs.map(runUpkeep));
  expect(await sql`select id from notifications`).toEqual([{ id: young }]);
  const purged = runs.flatMap(({ lines }) => lines).reduce((sum, { rows }) => sum + Number(rows), 0);
  expect(purged).toBe(old.length);
});

test("the last run of a task is recorded, also when it fails", async () => {
  const recorded = async () =>
    (
      await sql<{ changed: number | null; error: string | null }[]>`
        select changed, error from upkeep_runs where task = 'purge-ad-batches'`
    )[0];
  await runUpkeep(task({ task: "purge-ad-batches" }));
  expect(await recorded()).toEqual({ changed: 0, error: null });
  await sql`alter table ad_batches rename to lost`;
  await expect(runUpkeep(task({ task: "purge-ad-batches" }))).rejects.toThrow("ad_batches");
  await sql`alter table lost rename to ad_batches`;
  expect(await recorded()).toEqual({ changed: null, error: expect.stringContaining("does not exist") });
});

test("an unknown task is a permanent error", async () => {
  await expect(runUpkeep(task({ task: "constructor" }))).rejects.toThrow(PermanentError);
});
