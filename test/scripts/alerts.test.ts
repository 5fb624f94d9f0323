import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { ALERTS, describeWithPromtool, promtool, testRules, type Series } from "../support/promtool.js";

const text = await readFile(ALERTS, "utf8");
/** The alerts by name, with the minutes that they wait. */
const alerts = new Map(
  Array.from(text.matchAll(/- alert: (\w+)\n +expr: .+\n +for: (\d+)m\n/g), ([, name = "", minutes]) => [
    name,
    Number(minutes),
  ]),
);

const steady = (value: number) => `${value}+0x300`;
/** A counter that grows by so many a minute. */
const rising = (perMinute: number) => `1000000+${perMinute}x300`;
/** A value that changes after an hour. */
const stepping = (from: number, to: number) => `${from}+0x60 ${to}+0x300`;
const one = (name: string, labels = "") =>
  `${name}{job="surplus-food-api",instance="one"${labels === "" ? "" : `,${labels}`}}`;
const outbox = { [one("outbox_lag_seconds")]: steady(0) };
const requests = (failed: number, others: number): Series => ({
  [one("http_request_duration_seconds_count", 'method="GET",route="/api/v1/boxes",status="500"')]: rising(failed),
  [one("http_request_duration_seconds_count", 'method="GET",route="/api/v1/boxes",status="200"')]: rising(others),
});
const orders = (buckets: Record<string, number>, status = "201"): Series => {
  const labels = `method="POST",route="/api/v1/orders",status="${status}"`;
  const series = Object.entries(buckets).map(([le, count]): [string, string] => [
    one("http_request_duration_seconds_bucket", `${labels},le="${le}"`),
    rising(count),
  ]);
  return {
    ...Object.fromEntries(series),
    [one("http_request_duration_seconds_count", labels)]: rising(buckets["+Inf"] ?? 0),
  };
};
const shedOrders = (perMinute: number): Series => ({
  [one("http_requests_shed_total", 'method="POST",route="/api/v1/orders"')]: rising(perMinute),
});
const waits = (name: string, inTime: number, all: number, le = "5"): Series => ({
  [one(`${name}_bucket`, `le="${le}"`)]: rising(inTime),
  [one(`${name}_count`)]: rising(all),
});
const jobs = (failed: number, done: number): Series => ({
  [one("job_duration_seconds_count", 'queue="push",outcome="failed"')]: rising(failed),
  [one("job_duration_seconds_count", 'queue="push",outcome="done"')]: rising(done),
});
const pushes = (service: string, results: Record<string, string>): Series =>
  Object.fromEntries(
    Object.entries(results).map(([result, values]) => [
      one("push_messages_total", `service="${service}",result="${result}"`),
      values,
    ]),
  );
const codes = (sent: number): Series => ({
  [one("login_codes_total", 'outcome="sent"')]: rising(sent),
  [one("login_guesses_total", 'outcome="right"')]: rising(10),
});
const guesses = (wrong: number): Series => ({
  [one("login_guesses_total", 'outcome="wrong"')]: rising(wrong),
  [one("login_guesses_total", 'outcome="right"')]: rising(10),
});
const storage = (free: number): Series => ({
  [one("storage_free_bytes")]: steady(free),
  [one("storage_size_bytes")]: steady(100),
});

/** From which minute its condition holds in `fires`; in `holds` it never does, by little. */
interface Case {
  alert: string;
  of?: string;
  fires: Series;
  holds: Series;
  since?: number;
  labels?: string;
}

const cases: Case[] = [
  { alert: "ProcessDown", fires: { [one("up")]: steady(0) }, holds: { [one("up")]: steady(1) } },
  { alert: "OutboxUnknown", fires: { [one("up")]: steady(1) }, holds: outbox },
  { alert: "RequestsFail", fires: requests(11, 989), holds: requests(9, 991), since: 1 },
  { alert: "Overloaded", fires: shedOrders(7), holds: shedOrders(5), since: 4 },
  {
    alert: "OrdersSlow",
    fires: orders({ 1: 989, 2.5: 1_000, "+Inf": 1_000 }),
    holds: orders({ 1: 991, 2.5: 1_000, "+Inf": 1_000 }),
    since: 1,
  },
  {
    alert: "NoWorker",
    fires: { [one("worker_canary_age_seconds")]: steady(121) },
    holds: { [one("worker_canary_age_seconds")]: steady(120) },
  },
  {
    alert: "OutboxLag",
    fires: { [one("outbox_lag_seconds")]: steady(61) },
    holds: { [one("outbox_lag_seconds")]: steady(60) },
  },
  {
    alert: "EventLogLate",
    fires: { [one("event_log_lag_seconds")]: steady(61) },
    holds: { [one("event_log_lag_seconds")]: steady(60) },
  },
  {
    alert: "QueueGrows",
    fires: { [one("queue_jobs", 'queue="push",state="waiting"')]: steady(10_001) },
    holds: {
      [one("queue_jobs", 'queue="push",state="waiting"')]: steady(10_000),
      [one("queue_jobs", 'queue="push",state="delayed"')]: steady(20_000),
    },
  },
  {
    alert: "QueuePaused",
    fires: { [one("queue_paused", 'queue="push"')]: steady(1) },
    holds: { [one("queue_paused", 'queue="push"')]: steady(0) },
  },
  { alert: "JobsFail", fires: jobs(51, 49), holds: jobs(49, 51), since: 1 },
  {
    alert: "DeadJobs",
    fires: { [one("outbox_dead_jobs", 'queue="push"')]: steady(1) },
    holds: {
      [one("outbox_dead_jobs", 'queue="push"')]: steady(0),
      [one("outbox_dead_jobs", 'queue="pos-events"')]: steady(9),
      [one("outbox_dead_jobs", 'queue="sms"')]: steady(9),
    },
  },
  {
    alert: "PushKeyRefused",
    fires: pushes("fcm", { unauthorized: stepping(0, 1) }),
    holds: { ...pushes("fcm", { unauthorized: steady(7) }), ...pushes("others", { unauthorized: rising(9) }) },
    since: 61,
  },
  {
    alert: "PushFails",
    fires: pushes("fcm", { later: rising(26), unknown: rising(25), sent: rising(49), busy: rising(500) }),
    holds: {
      ...pushes("fcm", { later: rising(25), unknown: rising(24), sent: rising(51), busy: rising(500) }),
      ...pushes("others", { later: rising(900) }),
    },
    since: 1,
  },
  {
    alert: "PosEventsParked",
    fires: { [one("pos_parked_events")]: stepping(500, 601) },
    holds: { [one("pos_parked_events")]: stepping(500, 600) },
    since: 61,
  },
  {
    alert: "PosEventsParked",
    of: "in such numbers that they are no longer counted",
    fires: { [one("pos_parked_events")]: steady(10_000) },
    holds: { [one("pos_parked_events")]: steady(9_999) },
  },
  { alert: "StorageFull", fires: storage(9), holds: storage(10) },
  { alert: "LoginCodesPumped", fires: codes(51), holds: codes(49), since: 14 },
  { alert: "LoginCodesGuessed", fires: guesses(51), holds: guesses(49), since: 14 },
  {
    alert: "RollupsStale",
    fires: { [one("rollup_due_days")]: steady(1) },
    holds: { [one("rollup_due_days")]: steady(0) },
  },
  {
    alert: "ReplicaBehind",
    fires: { [one("database_replica_lag_seconds", 'replica="two"')]: steady(31) },
    holds: { [one("database_replica_lag_seconds", 'replica="two"')]: steady(30) },
  },
  {
    alert: "TransactionsWait",
    fires: { [one("database_pool", 'pool="transactions",state="waiting"')]: steady(1) },
    holds: {
      [one("database_pool", 'pool="transactions",state="waiting"')]: steady(0),
      [one("database_pool", 'pool="transactions",state="running"')]: steady(9),
    },
  },
  {
    alert: "EventLoopLate",
    fires: { [one("nodejs_eventloop_lag_p99_seconds")]: steady(0.51) },
    holds: { [one("nodejs_eventloop_lag_p99_seconds")]: steady(0.5) },
  },
  {
    alert: "ServiceLevelLost",
    of: "orders that are slow",
    fires: orders({ 0.3: 85, "+Inf": 100 }),
    holds: orders({ 0.3: 86, "+Inf": 100 }),
    since: 1,
    labels: 'level="orders"',
  },
  {
    alert: "ServiceLevelLost",
    of: "orders that fail at once",
    fires: { ...orders({ 0.3: 85, "+Inf": 85 }), ...orders({ 0.3: 15, "+Inf": 15 }, "503") },
    holds: { ...orders({ 0.3: 85, "+Inf": 85 }), ...orders({ 0.3: 15, "+Inf": 15 }, "409") },
    since: 1,
    labels: 'level="orders"',
  },
  {
    alert: "ServiceLevelLost",
    of: "orders that are shed",
    fires: { ...orders({ 0.3: 85, "+Inf": 85 }), ...shedOrders(15) },
    holds: { ...orders({ 0.3: 86, "+Inf": 86 }), ...shedOrders(14) },
    since: 1,
    labels: 'level="orders"',
  },
  {
    alert: "ServiceLevelLost",
    of: "pushes",
    fires: waits("order_push_seconds", 85, 100),
    holds: waits("order_push_seconds", 86, 100),
    since: 1,
    labels: 'level="pushes"',
  },
  {
    alert: "ServiceLevelLost",
    of: "POS events, in the notation of Prometheus 3",
    fires: waits("pos_event_apply_seconds", 85, 100, "5.0"),
    holds: waits("pos_event_apply_seconds", 86, 100, "5.0"),
    since: 1,
    labels: 'level="webhooks"',
  },
  {
    alert: "ServiceLevelLost",
    of: "few orders",
    // fewer than 1.2 a minute count as 1.2
    fires: orders({ 0.3: 0, "+Inf": 0.21 }),
    holds: orders({ 0.3: 0, "+Inf": 0.17 }),
    since: 14,
    labels: 'level="orders"',
  },
  {
    alert: "ServiceLevelSinks",
    fires: waits("order_push_seconds", 93, 100),
    holds: waits("order_push_seconds", 95, 100),
    since: 1,
    labels: 'level="pushes"',
  },
];

test("every alert has a case", () => {
  expect(new Set(cases.map(({ alert }) => alert))).toEqual(new Set(alerts.keys()));
  expect(text.match(/- alert: /g)).toHaveLength(alerts.size);
});

describeWithPromtool("the rules, in Prometheus", () => {
  test("are valid", async () => {
    expect(await promtool("check", "rules", ALERTS)).toMatch(/SUCCESS: \d+ rules found/);
  });

  describe("an alert fires when it should, not before, and not just below", () => {
    test.each(cases.map((each): [string, Case] => [`${each.alert} ${each.of ?? ""}`.trimEnd(), each]))(
      "%s",
      async (_name, { alert, fires, holds, since = 0, labels = "" }) => {
        const due = since + (alerts.get(alert) ?? 0);
        await testRules(
          [
            fires,
            [
              { alert, labels, minute: due - 1, fires: false },
              { alert, labels, minute: due, fires: true },
            ],
          ],
          [holds, [{ alert, labels, minute: due + 30, fires: false, ever: true }]],
        );
      },
    );
  });
});
