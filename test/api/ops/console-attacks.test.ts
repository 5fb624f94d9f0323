import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Bakery, Character } from "../../support/cast.js";

const code = "123456";
Object.assign(process.env, { OTP_FIXED_CODE: code, RATE_LIMIT_DISABLED: "1" });

const { closeBroker } = await import("../../../queues/broker.js");
const { push, webhooks } = await import("../../../queues/index.js");
const { closeDatabase, sql } = await import("../../../sql/db.js");
const { stageJob } = await import("../../../sql/outbox.js");
const { insertBulkAction } = await import("../../../sql/operators/bulk-actions.js");
const { anyJob } = await import("../../../sql/operators/jobs.js");
const { closeSignals } = await import("../../../sql/signals.js");
const { startApi } = await import("../../support/api.js");
const cast = await import("../../support/cast.js");

const { client, stop } = await startApi();
let admin: Character;
let cookie: string;
let otherCookie: string;
let observerCookie: string;
let shop: Bakery;

/** Signs an operator in; returns the cookie. */
async function signIn(phone: string): Promise<string> {
  const send = (path: string, form: Record<string, string>) =>
    fetch(`${client.url}/admin/queues/sign-in${path}`, {
      method: "POST",
      redirect: "manual",
      headers: { origin: client.url },
      body: new URLSearchParams(form),
    });
  await send("", { phone });
  const answer = await send("/code", { phone, code });
  return /^queues=[\w-]+/.exec(answer.headers.get("set-cookie") ?? "")?.[0] ?? "";
}

beforeAll(async () => {
  shop = await cast.bakery(client);
  admin = await cast.admin(client);
  const observer = await cast.user(client);
  await sql`update users set is_observer = true where id = ${observer.id}::uuid`;
  cookie = await signIn(admin.phone);
  otherCookie = await signIn((await cast.admin(client)).phone);
  observerCookie = await signIn(observer.phone);
});

beforeEach(() => sql`truncate staged_jobs, bulk_actions, audit_events, queue_settings`);

afterAll(async () => {
  await stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

const read = (path: string, headers: Record<string, string> = { cookie }) =>
  fetch(`${client.url}/admin/ops${path}`, { headers, redirect: "manual" });

const post = (path: string, form: Record<string, string> | [string, string][], headers: Record<string, string> = {}) =>
  fetch(`${client.url}/admin/ops${path}`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: client.url, cookie, ...headers },
    body: new URLSearchParams(form),
  });

const sure = { why: "a test", sure: "on" };

async function deadJobs(count: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    insert into staged_jobs (queue, payload, dead_at, last_error)
    select 'push', '{}', now(), 'HTTP 503' from generate_series(1, ${count})
    returning id::text`;
  return rows.map(({ id }) => id);
}

/** What an act would leave behind. */
const traces = async () =>
  (
    await sql<{ table: string }[]>`
    select 'audit' as table from audit_events
    union all select 'actions' from bulk_actions
    union all select 'settings' from queue_settings
    union all select 'jobs' from staged_jobs where dead_at is null`
  ).map(({ table }) => table);

/** Every form that does something. */
const forms = async (): Promise<[string, Record<string, string>][]> => {
  const [job = ""] = await deadJobs(1);
  const [action, endpoint, order] = [randomUUID(), randomUUID(), randomUUID()];
  return [
    ["/jobs", { state: "DEAD", kind: "REPLAY", all: "everything", ...sure }],
    ["/jobs", { state: "DEAD", kind: "REPLAY", ids: job, ...sure }],
    [`/jobs/${job}`, { kind: "REPLAY", ...sure }],
    [`/bulk-actions/${action}/stop`, sure],
    ["/queues/push", { kind: "PAUSE", ...sure }],
    ["/pos-events", { kind: "DISMISS", all: "everything", ...sure }],
    [`/things/${shop.id}/disconnect`, sure],
    [`/orders/${order}`, sure],
    [`/webhooks/${endpoint}/switch`, { kind: "STOP", ...sure }],
    [`/webhooks/${endpoint}/resend`, { since: "2026-06-01T00:00", ...sure }],
    ["/upkeep", { task: "no-shows", ...sure }],
    ["/rollups", { from: "2026-01-01", to: "2026-01-01", ...sure }],
  ];
};

describe("nothing is done", () => {
  test.each([
    ["from another site", { origin: "https://evil.example" }, 403],
    ["from a frame without an origin", { origin: "null" }, 403],
    ["from a neighbour", { "sec-fetch-site": "same-site" }, 403],
    ["without a session", { cookie: "" }, 401],
    ["with a session that is made up", { cookie: `queues=${"a".repeat(43)}` }, 401],
  ])("%s", async (_name, headers, status) => {
    for (const [path, form] of await forms())
      expect([path, (await post(path, form, headers)).status]).toEqual([path, status]);
    expect(await traces()).toEqual([]);
  });

  test("by who may only look, who is told so on a page", async () => {
    for (const [path, form] of await forms()) {
      const answer = await post(path, form, { cookie: observerCookie });
      expect([path, answer.status]).toEqual([path, 403]);
      expect(await answer.text()).toContain('<p role="alert">');
    }
    expect(await traces()).toEqual([]);
  });

  test("by a user, who is led to the sign-in, with an app's token or after it", async () => {
    const user = await cast.user(client);
    expect(await signIn(user.phone)).toBe("");
    const authorization = `Bearer ${user.client.token ?? ""}`;
    for (const headers of [{}, { authorization }, { authorization: `Bearer ${admin.client.token ?? ""}` }])
      expect((await read("/jobs", headers)).headers.get("location")).toMatch(/^\/admin\/queues\/sign-in\?to=/);
    for (const path of ["/jobs", "/queues/push/backlog", "/pos-events/backlog"])
      expect((await user.client.get(`/api/v1/admin/ops${path}`)).status).toBe(403);
  });

  test.each([
    ["", {}],
    ["without a reason", { sure: "on" }],
    ["without consent", { why: "a test" }],
    ["with a blank reason", { why: "  ", sure: "on" }],
  ])("by a form %s", async (_name, fields) => {
    const [id = ""] = await deadJobs(1);
    for (const [path, form] of await forms()) {
      const others = Object.fromEntries(Object.entries(form).filter(([name]) => !Object.hasOwn(sure, name)));
      expect([path, (await post(path, { ...others, ...fields })).status]).toEqual([path, 400]);
    }
    expect((await post(`/jobs/${id}`, { kind: "REPLAY", ...fields })).status).toBe(400);
    expect(await traces()).toEqual([]);
  });
});

describe("all that match", () => {
  const all = (fields: Record<string, string>) => post("/jobs", { state: "DEAD", kind: "DISMISS", ...sure, ...fields });

  test("is everything only when the form says so: one that has lost its conditions is refused", async () => {
    await deadJobs(3);
    for (const fields of [{ all: "on" }, { all: "on", queue: "", error: "  ", argument: "" }, { all: "yes" }, {}])
      expect((await all(fields)).status).toBe(400);
    expect((await post("/pos-events", { kind: "DISMISS", all: "on", ...sure })).status).toBe(400);
    expect(await traces()).toEqual([]);
    expect((await all({ all: "everything" })).status).toBe(303);
    expect((await all({ all: "on", queue: "push" })).status).toBe(303);
    expect(await sql`select from bulk_actions where matched = 3`).toHaveLength(2);
  });

  test("is offered in words that say what it is", async () => {
    await deadJobs(1);
    const page = async (path: string) => (await (await read(path)).text()).replaceAll(/\s+/g, " ");
    expect(await page("/jobs")).toContain('value="everything" /> All, however many: dead jobs of every queue');
    expect(await page("/jobs?queue=push&error=503")).toContain(
      'value="on" /> All that match, however many: dead jobs of the queue push, error contains “503”',
    );
  });
});

test("an act is not repeated by loading its page again, and a second one changes nothing and says so", async () => {
  const [id = ""] = await deadJobs(1);
  const replay = () => post(`/jobs/${id}`, { kind: "REPLAY", ...sure });
  const first = await replay();
  expect(first.status).toBe(303);
  const to = (first.headers.get("location") ?? "").replace("/admin/ops", "");
  for (let n = 0; n < 3; n += 1) expect(await (await read(to)).text()).toContain("Changed: 1 job.");
  expect(await sql`select from audit_events`).toHaveLength(1);
  const second = (await replay()).headers.get("location") ?? "";
  expect(await (await read(second.replace("/admin/ops", ""))).text()).toContain(
    "Changed: 0 jobs. There was nothing to change.",
  );
  const pause = () => post("/queues/push", { kind: "PAUSE", ...sure });
  expect((await pause()).headers.get("location")).toBe("/admin/ops/queues/push?changed=1");
  expect((await pause()).headers.get("location")).toBe("/admin/ops/queues/push?changed=0");
  expect(await sql`select from audit_events where action = 'QUEUE_PAUSE'`).toHaveLength(1);
});

test("two operators who act at once change each job once, and both are told how many", async () => {
  const ids = await deadJobs(50);
  const form = (kind: string): [string, string][] => [
    ...Object.entries({ state: "DEAD", kind, ...sure }),
    ...ids.map((id): [string, string] => ["ids", id]),
  ];
  const answers = await Promise.all([
    post("/jobs", form("REPLAY")),
    post("/jobs", form("DISMISS"), { cookie: otherCookie }),
    post("/jobs", form("DISMISS")),
    post("/jobs", form("REPLAY"), { cookie: otherCookie }),
  ]);
  const changed = answers.map(({ headers }) => Number(/changed=(\d+)/.exec(headers.get("location") ?? "")?.[1]));
  expect(changed.reduce((sum, count) => sum + count, 0)).toBe(50);
  const audited = await sql<{ changed: string }[]>`
    select details ->> 'changed' as changed from audit_events where action in ('JOBS_REPLAY', 'JOBS_DISMISS')`;
  expect(audited.map((row) => Number(row.changed)).toSorted()).toEqual(changed.toSorted());
});

describe("what others have written is text on every page:", () => {
  const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`;
  let paths: string[];

  beforeEach(async () => {
    await sql`update partners set name = ${evil} where id = ${shop.id}::uuid`;
    const customer = await cast.user(client);
    const [notification] = await sql<{ id: string }[]>`
      insert into notifications (user_id, kind, partner_id, status, reason, settled_at)
      values (${customer.id}::uuid, ${evil}, ${shop.id}::uuid, 'DROPPED', ${evil}, now())
      returning id`;
    const [job] = await sql<{ id: string }[]>`
      insert into staged_jobs (queue, payload, request_id, dead_at, last_error)
      values ('push', ${sql.json({ notificationId: evil, [evil]: evil })}, ${evil}, now(), ${evil})
      returning id::text`;
    await stageJob(sql, push, { notificationId: notification?.id ?? "" });
    await sql`
      insert into pos_events (partner_id, provider, account, event_id, change, status, settled_at, last_error)
      values (${shop.id}::uuid, ${evil}, ${evil}, ${randomUUID()}, ${sql.json({ kind: evil })}, 'PARKED', now(), ${evil})`;
    const [endpoint] = await sql<{ id: string }[]>`
      with endpoint as (
        insert into webhook_endpoints (partner_id, url, secret, position, failures, failing_since)
        select ${shop.id}::uuid, ${`https://hooks.example.com/${encodeURIComponent(evil)}`}, '', last_position, 3, now() from event_log
        returning id
      ), delivery as (
        insert into webhook_deliveries (
          endpoint_id, position, event_id, type, version, at, data, attempts, answered, answer, ms, attempted_at
        )
        select id, 1, gen_random_uuid(), ${evil}, 1, now(), '{}', 3, 503, ${evil}, 20, now() from endpoint
      )
      select id from endpoint`;
    await stageJob(sql, webhooks, { endpointId: endpoint?.id ?? "" });
    await sql`
      insert into processes (id, role, version, started_at, facts)
      values (${evil}, 'WORKER', ${evil}, now(), ${sql.json({
        ...{ statements: 0, transactions: 0, waiting: 1, vendors: [{ vendor: evil, calls: 1, failed: 1 }] },
        replicas: [{ name: evil, lagSeconds: 1 }],
        paused: [{ queue: evil, origin: evil, since: new Date(), until: new Date() }],
      })})
      on conflict (id) do nothing`;
    await sql`
      insert into upkeep_runs (task, started_at, ms, error) values ('no-shows', now(), 1, ${evil})
      on conflict (task) do update set error = excluded.error`;
    const action = await insertBulkAction(sql, {
      ...{ ...anyJob, error: evil, argument: { [evil]: evil }, partnerId: null },
      ...{ kind: "DISMISS", state: "DEAD", until: null, why: evil, actorId: null },
    });
    await post("/queues/push", { kind: "PAUSE", why: evil, sure: "on" });
    const q = encodeURIComponent(evil);
    paths = [
      ...[
        "",
        "/jobs",
        `/jobs?error=${q}`,
        `/jobs/${job?.id ?? ""}`,
        "/jobs?state=DUE",
        "/queues/push",
        "/queues/webhooks",
      ],
      ...["/bulk-actions", `/bulk-actions/${action}/stop`, "/pos-events", `/pos-events?error=${q}`, "/upkeep"],
      ...["/webhooks?show=ALL", `/webhooks/${endpoint?.id ?? ""}`, `/search?q=${q}`, `/requests/${q}`, "/nowhere"],
      ...[`/notifications/${notification?.id ?? ""}`, `/things/${shop.id}`, `/orders/${q}`, `/jobs?queue=${q}`],
    ];
  });

  test("no page has an element of it", async () => {
    for (const path of paths) {
      const answer = await read(path);
      const text = await answer.text();
      expect([path, answer.headers.get("content-type")]).toEqual([path, "text/html; charset=utf-8"]);
      expect([path, /<script|<img/i.test(text)]).toEqual([path, false]);
      expect(answer.headers.get("content-security-policy")).toMatch(/script-src 'self'(;|$)/);
    }
  });
});

describe("input that is too large or out of range is refused on a page:", () => {
  const long = "9".repeat(7_000);

  test.each([
    `/search?q=${long}`,
    "/search?q=",
    "/search?q=%00",
    "/search?q=%ED%A0%80",
    "/search?q=a&q=b",
    "/search?q=x&at=-271821-04-20",
    "/search?q=x&at=275760-09-13",
    `/jobs?error=${long}`,
    `/jobs?argument=${long}`,
    "/jobs?argument=a=%00",
    "/jobs?stagedFrom=-271821-04-20",
    "/jobs?minAttempts=1e9",
    "/jobs?after=1e300",
    "/jobs?after=-1",
    `/jobs/${long}`,
    "/jobs/1.5",
    "/pos-events?partnerId=1",
    "/pos-events?after=99999999999999999999",
    "/queues/__proto__",
    "/things/%00",
    "/webhooks/1",
    "/webhooks?show=NONE",
    "/%E0%A4%A",
  ])("GET %s", async (path) => {
    const answer = await read(path);
    expect(answer.status).toBeGreaterThanOrEqual(200);
    expect(answer.status).toBeLessThan(500);
    if (answer.status !== 200) expect(await answer.text()).toContain('<p role="alert">');
  });

  test.each([
    ["/jobs", { why: "x".repeat(9_000), sure: "on" }, 413],
    ["/jobs", Array.from({ length: 1_500 }, (): [string, string] => ["ids", "1"]), 413],
    ["/jobs", { ...sure, state: "DEAD", kind: "REPLAY", ids: "9".repeat(30) }, 400],
    ["/jobs/1", { ...sure, kind: "SNOOZE", until: "9".repeat(500) }, 400],
    ["/jobs/1", { ...sure, kind: "SNOOZE", until: "+275760-09-13T00:00:00" }, 400],
    ["/queues/push", { ...sure, kind: "RATE", perMinute: "1e12" }, 400],
    ["/queues/push", { ...sure, kind: "CONCURRENCY", concurrency: "0" }, 400],
    ["/rollups", { ...sure, from: "0001-01-01", to: "2026-01-01" }, 400],
    ["/upkeep", { ...sure, task: "constructor" }, 400],
  ] as [string, Record<string, string> | [string, string][], number][])("POST %s %#", async (path, form, status) => {
    const answer = await post(path, form);
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining('<p role="alert">')]);
    expect(await traces()).toEqual([]);
  });
});
