import { readFile, statfs } from "node:fs/promises";
import { afterAll, afterEach, beforeEach, expect, test } from "@jest/globals";
import { fcmRefusals } from "../../support/push/fcm.js";
import { scratch } from "../../support/scratch.js";
import { startSmsGateway } from "../../support/sms-gateway.js";

/**
 * Each condition that an alert is about is made to happen, and what the processes then export makes the alert fire. The rules
 * themselves are tested in test/scripts/alerts.test.ts, and a replica that is behind in test/sql/replicas.test.ts.
 */
const gateway = await startSmsGateway();
Object.assign(process.env, {
  SMS_SENDER: "http",
  SMS_HTTP_URL: gateway.url,
  STORAGE_DIR: scratch(),
  DATABASE_POOL: "2",
});

const { addPhone, api, deliver, fcm, notify, recipient } = await import("../../support/push/recipient.js");
const { readMetrics } = await import("../../../api/ops/metrics.js");
const { closeBroker } = await import("../../../queues/broker.js");
const { sms, upkeep } = await import("../../../queues/index.js");
const { sql, transaction } = await import("../../../sql/db.js");
const { numberEvents } = await import("../../../sql/queries/events.js");
const { updateHeartbeat } = await import("../../../sql/queries/heartbeats.js");
const { stageJob } = await import("../../../sql/outbox.js");
const { closeSignals } = await import("../../../sql/signals.js");
const { registry } = await import("../../../workers/metrics.js");
const { applyPosEvents } = await import("../../../workers/pos-events.js");
const { startWorkers } = await import("../../../workers/start.js");
const { addMenuItem, bakery, listBox } = await import("../../support/cast.js");
const { newOtp } = await import("../../support/otp.js");
const { ALERTS, describeWithPromtool, testRules } = await import("../../support/promtool.js");
const { task } = await import("../../support/task.js");
const { until } = await import("../../support/until.js");

afterAll(async () => {
  await Promise.all([closeBroker(), closeSignals(), gateway.stop()]);
});

const rules = await readFile(ALERTS, "utf8");

/** What Prometheus reads for the rules: by series its value, and which of them are counters. */
interface Scrape {
  values: ReadonlyMap<string, number>;
  counters: ReadonlySet<string>;
}

/** Reads what the API and the worker export. */
async function scrape(): Promise<Scrape> {
  const values = new Map<string, number>();
  const counters = new Set<string>();
  const processes = [
    ["surplus-food-api", (await readMetrics(false)).text],
    ["surplus-food-worker", await registry.metrics()],
  ] as const;
  for (const [job, lines] of processes) {
    const growing = new Set<string>();
    for (const line of lines.split("\n")) {
      const [, metric = "", kind] = /^# TYPE (\w+) (\w+)$/.exec(line) ?? [];
      if (kind === "counter") growing.add(metric);
      if (kind === "histogram") for (const suffix of ["_bucket", "_count", "_sum"]) growing.add(metric + suffix);
      const [, name = "", labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (value === undefined || !rules.includes(`${name}{`)) continue;
      const series = `${name}{job="${job}",instance="one"${labels === "" ? "" : `,${labels}`}}`;
      values.set(series, Number(value));
      if (growing.has(name)) counters.add(series);
    }
  }
  return { values, counters };
}

/** How long it is as before, in minutes, and then as it is now. */
const [EARLIER, LATER] = [10, 30];

/** Whether an alert does not fire before, and does at last: what was counted between is then counted again every minute. */
async function expectToFire(
  alert: string,
  before: Scrape,
  after: Scrape,
  { labels = "", later = LATER } = {},
): Promise<void> {
  const series = Array.from(after.values, ([name, value]): [string, string] => {
    const old = before.values.get(name) ?? (after.counters.has(name) ? 0 : value);
    const change = after.counters.has(name) ? value - old : 0;
    return [name, `${old}+0x${EARLIER} ${value}+${change}x${later}`];
  });
  await testRules([
    Object.fromEntries(series),
    [
      { alert, labels, minute: EARLIER, fires: false, ever: true },
      { alert, labels, minute: EARLIER + later, fires: true, ever: true },
    ],
  ]);
}

const valueOf = ({ values }: Scrape, name: string, labels = "") =>
  Array.from(values).find(([series]) => series.startsWith(`${name}{`) && series.includes(labels))?.[1];

// this process may have run other tests for minutes
beforeEach(() => updateHeartbeat(sql, "canary"));
afterEach(() => sql`truncate staged_jobs`);

describeWithPromtool("an alert fires for", () => {
  test("a job that can never succeed: DeadJobs", async () => {
    const before = await scrape();
    const workers = await startWorkers(["push"]);
    await sql`select stage_job('push', '{}')`;
    await until(async () => (await sql`select from staged_jobs where dead_at is not null`).count > 0);
    await workers.stop();
    const after = await scrape();
    expect(valueOf(after, "outbox_dead_jobs", 'queue="push"')).toBe(1);
    await expectToFire("DeadJobs", before, after);
  });

  test("a gateway that answers with errors: JobsFail", async () => {
    const before = await scrape();
    gateway.answerWith(500);
    const workers = await startWorkers(["sms"]);
    await stageJob(sql, sms, { otpId: await newOtp() });
    const failed = async () => valueOf(await scrape(), "job_duration_seconds_count", 'queue="sms",outcome="failed"');
    await until(async () => ((await failed()) ?? 0) > 0);
    await workers.stop();
    await expectToFire("JobsFail", before, await scrape());
  });

  test("jobs that nobody hands over: OutboxLag", async () => {
    const before = await scrape();
    await stageJob(sql, upkeep, { task: "canary" }, { runAt: new Date(Date.now() - 61_000) });
    await expectToFire("OutboxLag", before, await scrape());
  });

  test("events that nobody numbers: EventLogLate", async () => {
    await numberEvents(sql, 1_000);
    const before = await scrape();
    await sql`insert into new_events (type, at, data) values ('campaign.completed', now() - interval '61 seconds', '{}')`;
    await expectToFire("EventLogLate", before, await scrape());
  });

  test("a canary that nobody runs: NoWorker", async () => {
    const before = await scrape();
    await sql`update heartbeats set beat_at = now() - interval '121 seconds'`;
    await expectToFire("NoWorker", before, await scrape());
  });

  test("days that nobody rolls up: RollupsStale", async () => {
    const before = await scrape();
    const id = await listBox(await bakery(api.client));
    await sql`update boxes set created_at = now() - interval '3 days' where id = ${id}::uuid`;
    await expectToFire("RollupsStale", before, await scrape(), { later: 200 });
    await sql`update boxes set created_at = now()`;
  });

  test("transactions beyond the pool: TransactionsWait", async () => {
    const before = await scrape();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const transactions = [1, 2, 3].map(() => transaction(() => held));
    const after = await scrape();
    release();
    await Promise.all(transactions);
    expect(valueOf(after, "database_pool", 'pool="transactions",state="waiting"')).toBe(1);
    await expectToFire("TransactionsWait", before, after);
  });

  test("a push service that does not accept the key: PushKeyRefused", async () => {
    await addPhone();
    const before = await scrape();
    fcm.answerWith(fcmRefusals.permissionDenied);
    await deliver(await notify());
    await expectToFire("PushKeyRefused", before, await scrape());
  });

  test("a push service that is down: PushFails", async () => {
    await addPhone();
    const before = await scrape();
    fcm.answerWith(fcmRefusals.unavailable("900"));
    await deliver(await notify());
    await expectToFire("PushFails", before, await scrape());
  });

  test("a disk without space: StorageFull", async () => {
    const before = await scrape();
    const { bsize, blocks } = await statfs(scratch());
    const [size, free] = [valueOf(before, "storage_size_bytes"), valueOf(before, "storage_free_bytes") ?? Number.NaN];
    expect(size).toBe(bsize * blocks);
    expect(free).toBeGreaterThan(0);
    expect(free).toBeLessThanOrEqual(bsize * blocks);
    // a test cannot fill it
    const roomy = new Map(before.values);
    const full = new Map(before.values);
    for (const series of before.values.keys())
      if (series.startsWith("storage_free_bytes{")) {
        roomy.set(series, bsize * blocks);
        full.set(series, 0.09 * bsize * blocks);
      }
    await expectToFire("StorageFull", { ...before, values: roomy }, { ...before, values: full });
  });

  test("events of POS systems that cannot be applied: PosEventsParked", async () => {
    const shop = await bakery(api.client);
    const before = await scrape();
    await sql`
      insert into pos_events (partner_id, provider, account, event_id, change)
      select ${shop.id}::uuid, 'generic', 'account', 'event ' || n, '{"kind":"order.status","orderExternalId":"unknown","status":"READY"}'
      from generate_series(1, 101) as n`;
    await applyPosEvents(task({ partnerId: shop.id }));
    const after = await scrape();
    expect(valueOf(after, "pos_parked_events")).toBe(101);
    await expectToFire("PosEventsParked", before, after);
  });

  test("events of POS systems that are applied late, but not those that were replayed: ServiceLevelLost", async () => {
    const shop = await bakery(api.client);
    const receive = (event: string, dueAgo: string) => sql`
      insert into pos_events (partner_id, provider, account, event_id, change, received_at, next_attempt_at)
      values (
        ${shop.id}::uuid, 'generic', 'account', ${event}, '{"kind":"menu.updated"}',
        now() - interval '1 minute', now() - ${dueAgo}::text::interval
      )`;
    const start = await scrape();
    await receive("replayed", "0 s");
    await applyPosEvents(task({ partnerId: shop.id }));
    const before = await scrape();
    expect(valueOf(before, "pos_event_apply_seconds_count")).toBe(valueOf(start, "pos_event_apply_seconds_count"));
    await receive("late", "1 minute");
    await applyPosEvents(task({ partnerId: shop.id }));
    await expectToFire("ServiceLevelLost", before, await scrape(), { labels: 'level="webhooks"' });
  });

  test("pushes long after their order, but not after quiet hours: ServiceLevelLost", async () => {
    const shop = await bakery(api.client);
    const item = await addMenuItem(shop, { price: 60 });
    await addPhone();
    /** A notification about an order that was placed six seconds ago. */
    const notifyLate = async () => {
      const order = { items: [{ menuItemId: item, qty: 1 }], totalAmount: 60, partnerId: shop.id };
      const orderId = (await recipient().client.post("/api/v1/orders", order)).string("orderId");
      await sql`update orders set created_at = now() - interval '6 seconds' where id = ${orderId}::uuid`;
      return notify("ORDER_ACCEPTED", { orderId });
    };
    const start = await scrape();
    const quiet = await notifyLate();
    await sql`update notifications set status = 'DEFERRED', reason = 'quiet hours' where id = ${quiet}::uuid`;
    expect((await deliver(quiet)).thrown).toBeNull();
    const before = await scrape();
    expect(valueOf(before, "order_push_seconds_count")).toBe(valueOf(start, "order_push_seconds_count"));
    expect((await deliver(await notifyLate())).thrown).toBeNull();
    await expectToFire("ServiceLevelLost", before, await scrape(), { labels: 'level="pushes"' });
  });

  test("orders that wait for a lock: ServiceLevelLost", async () => {
    const shop = await bakery(api.client);
    const boxId = await listBox(shop);
    const before = await scrape();
    const { client } = recipient();
    const lines = { items: [{ boxId, qty: 1 }], totalAmount: 249.9, partnerId: shop.id };
    const placed: { answer?: ReturnType<typeof client.post> } = {};
    await transaction(async (tx) => {
      await tx`select from boxes where id = ${boxId}::uuid for update`;
      placed.answer = client.post("/api/v1/orders", lines);
      await until(async () => {
        const { count } = await sql`
          select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query_start < clock_timestamp() - interval '0.3 s'`;
        return count > 0;
      });
    });
    expect((await placed.answer)?.status).toBe(201);
    await expectToFire("ServiceLevelLost", before, await scrape(), { labels: 'level="orders"' });
  });
});
