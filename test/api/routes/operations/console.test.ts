import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { posEvents, push, rollups, sms } from "../../../../queues/index.js";
import { closeDatabase, sql, transaction } from "../../../../sql/db.js";
import { completeJob, stageJob } from "../../../../sql/outbox.js";
import { continueBulkAction } from "../../../../sql/operators/bulk-actions.js";
import { receivePosEvents } from "../../../../sql/queries/pos-events.js";
import { closeSignals, onLedSignal } from "../../../../sql/signals.js";
import { rollUp } from "../../../../workers/rollups.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { outcome, startApi, type Client } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { runEvents } from "../../../support/events.js";
import { task } from "../../../support/task.js";
import { until } from "../../../support/until.js";
import { countBlocked } from "../../../support/locks.js";

const ops = "/api/v1/admin/ops";
const why = "the vendor is back";

let client: Client;
let stop: () => Promise<void>;
let admin: cast.Character;
let shop: cast.Bakery;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  admin = await cast.admin(client);
  shop = await cast.bakery(client);
});

beforeEach(async () => {
  await sql`delete from staged_jobs`;
  await sql`delete from queue_settings`;
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

async function giveUp(id: string, error: string): Promise<number> {
  await sql`update staged_jobs set dead_at = now(), last_error = ${error}, attempts = 8 where id = ${id}::bigint`;
  return Number(id);
}

const deadPush = async (error: string) => giveUp(await stageJob(sql, push, { notificationId: randomUUID() }), error);
const deadSms = async (error: string) => giveUp(await stageJob(sql, sms, { otpId: randomUUID() }), error);

/** A customer's order, whose events have been turned into notifications. */
async function placeOrder({ requestId = randomUUID(), ready = true } = {}) {
  const customer = await cast.user(client);
  const boxId = await cast.listBox(shop, { price: 100 });
  const order = await customer.client.post(
    "/api/v1/orders",
    { items: [{ menuItemId: boxId, qty: 1 }], totalAmount: 100, partnerId: shop.id },
    { headers: { "x-request-id": requestId } },
  );
  const orderId = order.string("orderId");
  if (ready) await runEvents(orderId);
  return { customer, orderId, requestId };
}

const stateOf = async (id: number) =>
  (
    await sql<{ state: string }[]>`
      select case when done_at is not null then 'DONE' when dead_at is not null then 'DEAD' else 'OPEN' end as state
      from staged_jobs
      where id = ${id}::bigint`
  )[0]?.state;

const read = async (path: string) => (await admin.client.get(`${ops}${path}`)).body;
const list = async (path: string) => (await admin.client.get(`${ops}${path}`)).list;

describe("an order is shown", () => {
  test("with its moves, its jobs and its notifications, in the order of time", async () => {
    const { customer, orderId } = await placeOrder();
    // another order, whose jobs are not shown
    await placeOrder();
    const shown = await read(`/orders/${orderId}`);
    expect(shown).toMatchObject({
      order: { id: orderId, status: "ACCEPTED", userId: customer.id, partnerId: shop.id },
    });
    expect(shown["timeline"]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ what: "ACCEPTED, by CUSTOMER" }),
        expect.objectContaining({
          what: expect.stringMatching(/^fan-out job \d+ done after 0 attempts, \d+\.\d s after it was staged$/),
        }),
        expect.objectContaining({ what: `notification ORDER_ACCEPTED for user ${customer.id}` }),
      ]),
    );
    const jobs = await sql<{ id: number }[]>`
      select id
      from staged_jobs
      where payload ->> 'subjectId' = ${orderId}
        or payload ->> 'notificationId' in (select id::text from notifications where order_id = ${orderId}::uuid)
      order by id`;
    expect(jobs.length).toBeGreaterThan(2);
    expect(shown["jobs"]).toEqual(jobs.map(({ id }) => expect.objectContaining({ id })));
  });

  test("with its customer's phone and address masked, which an admin reads for a reason that is audited", async () => {
    const { customer, orderId } = await placeOrder({ ready: false });
    await sql`update orders set address = 'Тверская, 1' where id = ${orderId}::uuid`;
    const { order } = await read(`/orders/${orderId}`);
    const masked = `${customer.phone.slice(0, 2)}••••••••${customer.phone.slice(-2)}`;
    expect(order).toMatchObject({ phone: masked, address: "•••" });
    const shown = await admin.client.post(`${ops}/orders/${orderId}/contact`, { why });
    expect(shown.body).toEqual({ phone: customer.phone, address: "Тверская, 1" });
    expect(await auditOf("CONTACT_SHOWN")).toEqual([{ order: orderId, why }]);
  });

  test("to admins only as an order: another id is 404", async () => {
    expect(outcome(await admin.client.get(`${ops}/orders/${randomUUID()}`))).toBe("404 NOT_FOUND");
  });
});

test("a box is shown with the jobs that it caused when it was listed; an unknown id is 404", async () => {
  const boxId = await cast.listBox(shop, { price: 100 });
  await cast.listBox(shop, { price: 100 });
  const { found, jobs, timeline } = await read(`/things/${boxId}`);
  expect(found).toMatchObject({ kind: "BOX", id: boxId });
  expect(jobs).toEqual([
    expect.objectContaining({ queue: "fan-out", payload: expect.objectContaining({ subjectId: boxId }) }),
  ]);
  expect(timeline).toContainEqual(expect.objectContaining({ what: "BOX made" }));
  expect(outcome(await admin.client.get(`${ops}/things/${randomUUID()}`))).toBe("404 NOT_FOUND");
});

describe("why a notification was not sent is said in words:", () => {
  async function notified() {
    const { customer, orderId } = await placeOrder();
    const [row] = await sql<{ id: string; jobId: number }[]>`
      select n.id, job.id as "jobId"
      from notifications n
      join staged_jobs job on job.payload ->> 'notificationId' = n.id::text
      where n.order_id = ${orderId}::uuid and n.user_id = ${customer.id}::uuid`;
    return row!;
  }
  const whyOf = async (id: string) => (await read(`/notifications/${id}`))["notification"];

  test("its job is due", async () => {
    const { id, jobId } = await notified();
    expect(await whyOf(id)).toMatchObject({ why: `Not sent yet: job ${jobId} is due.` });
  });

  test("its job was given up", async () => {
    const { id, jobId } = await notified();
    await giveUp(String(jobId), "403 from the push service");
    expect(await whyOf(id)).toMatchObject({
      why: `Not sent: job ${jobId} was given up (403 from the push service). Replay it.`,
    });
  });

  test("it waits for the end of quiet hours", async () => {
    const { id, jobId } = await notified();
    await sql`update notifications set status = 'DEFERRED', reason = 'quiet hours' where id = ${id}::uuid`;
    await sql`update staged_jobs set run_at = '2100-01-01T09:00Z' where id = ${jobId}::bigint`;
    expect(await whyOf(id)).toMatchObject({ why: "Not sent before 2100-01-01T09:00:00.000Z: quiet hours." });
  });

  test("its user has turned pushes off", async () => {
    const { id } = await notified();
    await sql`
      update notifications set status = 'DROPPED', reason = 'push is off', settled_at = now() where id = ${id}::uuid`;
    expect(await whyOf(id)).toMatchObject({ why: "Not sent, and never will be: its user has turned pushes off." });
  });

  test("its job is gone", async () => {
    const { id, jobId } = await notified();
    await sql`delete from staged_jobs where id = ${jobId}::bigint`;
    expect(await whyOf(id)).toMatchObject({ why: "Not sent, and it has no open job." });
  });
});

describe("a search finds", () => {
  const find = async (q: string) => list(`/search?${new URLSearchParams({ q }).toString()}`);

  test("an order by its id, by its pickup code, and by its customer's phone, which is audited", async () => {
    const { customer, orderId } = await placeOrder();
    const order = expect.objectContaining({ kind: "ORDER", id: orderId, state: "ACCEPTED" });
    expect(await find(orderId)).toContainEqual(order);
    const [{ code } = { code: "" }] = await sql<{ code: string }[]>`
      select pickup_code as code from orders where id = ${orderId}::uuid`;
    expect(await find(code)).toContainEqual(order);
    expect(await find(customer.phone)).toEqual([expect.objectContaining({ kind: "USER", id: customer.id }), order]);
    const audited = await sql`
      select from audit_events
      where actor_id = ${admin.id}::uuid and action = 'PHONE_SEARCHED' and details = ${sql.json({ user: customer.id })}`;
    expect(audited.length).toBe(1);
  });

  test("nobody by phone with a service key, as the audit log could not say who looked", async () => {
    const { customer } = await placeOrder();
    const key = await admin.client.post("/api/v1/admin/api-keys", { name: "Screens", scopes: ["ops:read"] });
    const search = `${ops}/search?${new URLSearchParams({ q: customer.phone }).toString()}`;
    expect((await client.as(key.string("key")).get(search)).list).toEqual([]);
  });

  test("what a request caused, directly and through other jobs", async () => {
    const { requestId, orderId } = await placeOrder();
    const { jobs, notifications } = await read(`/orders/${orderId}`);
    const found = await find(requestId);
    expect(found.length).toBeGreaterThan(2);
    expect(found.map(({ kind }) => kind)).toEqual(found.map(() => "JOB"));
    const request = await read(`/requests/${requestId}`);
    expect(request).toMatchObject({ jobs, notifications });
    expect(request["timeline"]).toContainEqual(
      expect.objectContaining({ what: expect.stringMatching(/^notification ORDER_/) }),
    );
  });

  test("a request's jobs only near the time at which it was made", async () => {
    const { requestId } = await placeOrder();
    const at = new Date(Date.now() - 3_600_000).toISOString();
    expect(await list(`/search?${new URLSearchParams({ q: requestId, at }).toString()}`)).toEqual([]);
  });

  test("a job by its number, and by the id that the queue dashboard shows", async () => {
    const id = await deadPush("503");
    const job = expect.objectContaining({ kind: "JOB", id: String(id), state: "DEAD" });
    expect(await find(String(id))).toContainEqual(job);
    expect(await find(`${id}.0`)).toContainEqual(job);
  });

  test("nothing, for words that mean nothing", async () => {
    expect(await find("'; select")).toEqual([]);
  });
});

describe("dead jobs", () => {
  test("are listed by queue and by a part of their error, newest first, page by page", async () => {
    const ids = [await deadPush("HTTP 503"), await deadPush("http 503"), await deadPush("HTTP 400")];
    await deadSms("HTTP 503");
    expect((await list("/jobs?queue=push")).map(({ id }) => id)).toEqual(ids.toReversed());
    expect((await list("/jobs?queue=push&error=Http%20503")).map(({ id }) => id)).toEqual([ids[1], ids[0]]);
    const first = await admin.client.get(`${ops}/jobs?queue=push&error=503&limit=1`);
    expect(first.list.map(({ id }) => id)).toEqual([ids[1]]);
    const [, next = ""] = /<([^>]+)>/.exec(first.headers.get("link") ?? "") ?? [];
    expect((await admin.client.get(next)).list.map(({ id }) => id)).toEqual([ids[0]]);
  });

  test("are listed by the time at which they were staged and by their attempts, and so is what a bulk action is about", async () => {
    const [early, middle, late] = [await deadPush("a"), await deadPush("b"), await deadPush("c")];
    for (const [hours, id] of [early, middle, late].entries())
      await sql`
        update staged_jobs
        set created_at = timestamptz '2026-06-01T00:00Z' + ${hours} * interval '1 hour', attempts = ${hours + 1}::integer
        where id = ${id}::bigint`;
    const ids = async (query: string) => (await list(`/jobs?${query}`)).map(({ id }) => id);
    expect(await ids("stagedFrom=2026-06-01T01:00Z")).toEqual([late, middle]);
    expect(await ids("stagedBefore=2026-06-01T02:00Z")).toEqual([middle, early]);
    expect(await ids("minAttempts=3")).toEqual([late]);
    expect(outcome(await admin.client.get(`${ops}/jobs?minAttempts=0`))).toBe("400 VALIDATION_ERROR");
    const which = { stagedFrom: "2026-06-01T00:00:00.000Z", stagedBefore: "2026-06-01T02:00:00.000Z", minAttempts: 2 };
    const asked = await admin.client.post(`${ops}/bulk-actions`, { kind: "DISMISS", why, ...which });
    expect(asked.body).toMatchObject({ ...which, matched: 1 });
    await runUpkeep(task({ task: "bulk-actions" }));
    expect(await Promise.all([early, middle, late].map(stateOf))).toEqual(["DEAD", "DONE", "DEAD"]);
    expect((await auditOf("JOBS_DISMISS")).at(-1)).toMatchObject({ minAttempts: 2, matched: 1 });
  });

  test("are listed by an argument, page by page, and so is what a bulk action is about", async () => {
    const notificationId = randomUUID();
    const stage = () => stageJob(sql, push, { notificationId });
    const ids = [await giveUp(await stage(), "HTTP 503"), await giveUp(await stage(), "HTTP 403")];
    const due = Number(await stage());
    const waiting = Number(await stageJob(sql, push, { notificationId }, { runAt: later() }));
    const other = await deadPush("HTTP 503");
    await openPush();
    await openPush(later());
    const argument = `notificationId=${notificationId}`;
    const listed = async (query: string) => (await list(`/jobs?argument=${argument}${query}`)).map(({ id }) => id);
    expect(await listed("")).toEqual(ids.toReversed());
    expect(await listed("&error=503")).toEqual([ids[0]]);
    expect(await listed("&queue=sms")).toEqual([]);
    expect(await listed("&state=DUE")).toEqual([due]);
    expect(await listed("&state=WAITING")).toEqual([waiting]);
    const first = await admin.client.get(`${ops}/jobs?argument=${argument}&limit=1`);
    const [, next = ""] = /<([^>]+)>/.exec(first.headers.get("link") ?? "") ?? [];
    expect((await admin.client.get(next)).list.map(({ id }) => id)).toEqual([ids[0]]);
    const asked = await admin.client.post(`${ops}/bulk-actions`, { kind: "DISMISS", why, argument });
    expect(asked.body).toMatchObject({ argument, matched: 2 });
    await runUpkeep(task({ task: "bulk-actions" }));
    expect(await Promise.all([...ids, due, other].map(stateOf))).toEqual(["DONE", "DONE", "OPEN", "DEAD"]);
    expect((await auditOf("JOBS_DISMISS")).at(-1)).toMatchObject({ argument: { notificationId }, matched: 2 });
    const cancelled = await admin.client.post(`${ops}/bulk-actions`, {
      kind: "CANCEL",
      state: "WAITING",
      why,
      argument,
    });
    expect(cancelled.body).toMatchObject({ matched: 1 });
    await runUpkeep(task({ task: "bulk-actions" }));
    expect(await Promise.all([due, waiting].map(stateOf))).toEqual(["OPEN", "DONE"]);
  });

  test("are listed by an argument that is a number, and not by one that is no name=value", async () => {
    const id = await giveUp(await stageJob(sql, posEvents, { eventId: 4711 }), "unknown item");
    await giveUp(await stageJob(sql, posEvents, { eventId: 4712 }), "unknown item");
    expect((await list("/jobs?argument=eventId=4711")).map((job) => job.id)).toEqual([id]);
    expect(outcome(await admin.client.get(`${ops}/jobs?argument=eventId`))).toBe("400 VALIDATION_ERROR");
  });

  test("are replayed and dismissed by number, and audited; others are left alone", async () => {
    const [replayed, dismissed, left] = [await deadPush("a"), await deadPush("b"), await deadPush("c")];
    const open = Number(await stageJob(sql, push, { notificationId: randomUUID() }));
    const settle = (kind: string, ids: number[]) => admin.client.post(`${ops}/jobs/settle`, { kind, ids, why });
    expect((await settle("REPLAY", [replayed, open])).body).toEqual({ changed: 1 });
    expect((await settle("DISMISS", [dismissed])).body).toEqual({ changed: 1 });
    expect(await Promise.all([replayed, dismissed, left, open].map(stateOf))).toEqual(["OPEN", "DONE", "DEAD", "OPEN"]);
    const audited = await sql<{ details: unknown }[]>`
      select details from audit_events where actor_id = ${admin.id}::uuid and action = 'JOBS_REPLAY' order by id`;
    expect(audited.at(-1)?.details).toEqual({ jobs: `${replayed} ${open}`, why, changed: "1" });
  });
});

const hour = 3_600_000;
const later = () => new Date(Date.now() + hour);
const openPush = async (runAt = new Date()) =>
  Number(await stageJob(sql, push, { notificationId: randomUUID() }, { runAt }));
const jobsOf = async (state: string) => (await list(`/jobs?state=${state}`)).map(({ id }) => id);

describe("open jobs", () => {
  const settle = (body: Record<string, unknown>) => admin.client.post(`${ops}/jobs/settle`, { why, ...body });

  test("are run now, snoozed and cancelled by number; dead ones are left alone", async () => {
    const [due, waiting, dead] = [await openPush(), await openPush(later()), await deadPush("x")];
    const ids = [due, waiting, dead];
    expect((await settle({ kind: "RUN", ids })).body).toEqual({ changed: 2 });
    expect(await jobsOf("DUE")).toEqual([waiting, due]);
    const time = later();
    expect((await settle({ kind: "SNOOZE", ids, until: time.toISOString() })).body).toEqual({ changed: 2 });
    const waits = await list("/jobs?state=WAITING");
    expect(waits.map(({ id, runAt }) => [id, runAt])).toEqual([waiting, due].map((id) => [id, time.toISOString()]));
    expect((await settle({ kind: "CANCEL", ids: [due, dead] })).body).toEqual({ changed: 1 });
    expect(await Promise.all(ids.map(stateOf))).toEqual(["DONE", "OPEN", "DEAD"]);
    const [cancelled] = await list(`/search?q=${due}`);
    expect(cancelled).toMatchObject({ kind: "JOB", state: "DONE" });
    const [row] = await sql<{ error: string }[]>`select last_error as error from staged_jobs where id = ${due}::bigint`;
    expect(row?.error).toBe("ended by an operator");
  });

  test("that run are superseded: their runs complete nothing", async () => {
    const id = await openPush();
    const [row] = await sql<{ generation: number }[]>`select generation from staged_jobs where id = ${id}::bigint`;
    await settle({ kind: "SNOOZE", ids: [id], until: later().toISOString() });
    expect(await completeJob(sql, { id: String(id), generation: row!.generation })).toBe(false);
  });

  test.each([
    [{ kind: "SNOOZE" }],
    [{ kind: "SNOOZE", until: new Date(Date.now() - 1_000).toISOString() }],
    [{ kind: "CANCEL", until: later().toISOString() }],
  ])("are not changed by %j", async (body) => {
    expect(outcome(await settle({ ids: [1], ...body }))).toBe("400 VALIDATION_ERROR");
  });
});

describe("a bulk action", () => {
  const ask = (body: Record<string, unknown>) => admin.client.post(`${ops}/bulk-actions`, { why, ...body });
  const run = () => runUpkeep(task({ task: "bulk-actions" }));

  test("replays all that match, in batches, once, and says how many", async () => {
    await sql`
      insert into staged_jobs (queue, payload, dead_at, last_error, attempts)
      select 'push', '{}', now(), 'HTTP 503', 8 from generate_series(1, 5500)`;
    const others = [await deadPush("HTTP 400"), await deadSms("HTTP 503")];
    const asked = await ask({ kind: "REPLAY", queue: "push", error: "503" });
    expect(asked.body).toMatchObject({ matched: 5_500, changed: 0, progress: 0, settledAt: null });
    const later = await deadPush("HTTP 503");
    const first = task({ task: "bulk-actions" });
    await runUpkeep(first);
    expect(first.reported).toEqual(expect.arrayContaining([0, 5_000].map((done) => [done, 5_500])));
    await run();
    const path = asked.headers.get("location") ?? "";
    expect((await admin.client.get(path)).body).toMatchObject({
      changed: 5_500,
      progress: 1,
      estimatedEndAt: null,
      settledAt: expect.any(String),
    });
    expect(await Promise.all([...others, later].map(stateOf))).toEqual(["DEAD", "DEAD", "DEAD"]);
    const [{ replayed } = { replayed: 0 }] = await sql<{ replayed: number }[]>`
      select count(*) as replayed from staged_jobs where attempts = 0 and queue = 'push' and dead_at is null and priority > 0`;
    expect(replayed).toBe(5_500);
  });

  test.each([
    ["RUN", "WAITING", { due: 5_503, waiting: 0, done: 0 }],
    ["SNOOZE", "WAITING", { due: 3, waiting: 5_500, done: 0 }],
    ["SNOOZE", "DUE", { due: 0, waiting: 5_503, done: 0 }],
    ["CANCEL", "DUE", { due: 0, waiting: 5_500, done: 3 }],
  ])("does %s to every job that is %s, in batches, once, and to no other", async (kind, state, left) => {
    await sql`
      insert into staged_jobs (queue, payload, run_at, created_at)
      select 'push', '{}', now() + case when n > 3 then interval '1 hour' else interval '-1 minute' end, now() - interval '1 minute'
      from generate_series(1, 5503) as n`;
    const others = [Number(await stageJob(sql, sms, { otpId: randomUUID() })), await deadPush("x")];
    const time = kind === "SNOOZE" ? { until: new Date(Date.now() + 2 * hour).toISOString() } : {};
    const asked = await ask({ kind, state, queue: "push", ...time });
    const matched = state === "DUE" ? 3 : 5_500;
    expect(asked.body).toMatchObject({ state, matched });
    const after = await openPush();
    await run();
    expect((await admin.client.get(asked.headers.get("location") ?? "")).body).toMatchObject({
      changed: matched,
      settledAt: expect.any(String),
    });
    expect(await Promise.all([...others, after].map(stateOf))).toEqual(["OPEN", "DEAD", "OPEN"]);
    const [counts] = await sql`
      select
        count(*) filter (where done_at is null and run_at <= now()) as due,
        count(*) filter (where done_at is null and run_at > now()) as waiting, count(*) filter (where done_at is not null) as done
      from staged_jobs
      where queue = 'push' and dead_at is null and id <> ${after}::bigint`;
    expect(counts).toEqual(left);
  });

  test.each([
    { kind: "REPLAY", state: "DUE", all: true },
    { kind: "CANCEL", all: true },
    { kind: "SNOOZE", state: "DUE", all: true },
    // everything is meant only when that is said
    { kind: "DISMISS" },
    { kind: "CANCEL", state: "DUE" },
    { kind: "DISMISS", state: "PARKED" },
  ])("is refused as %j", async (body) => {
    expect(outcome(await ask(body))).toBe("400 VALIDATION_ERROR");
  });

  test("says which part is done, and about when the rest will be", async () => {
    const asked = await ask({ kind: "DISMISS", all: true });
    await sql`
      update bulk_actions set matched = 100, changed = 25, started_at = now() - interval '1 minute'
      where id = ${asked.string("id")}::uuid`;
    const { progress, estimatedEndAt } = (await admin.client.get(asked.headers.get("location") ?? "")).body;
    expect(progress).toBe(0.25);
    expect(Date.parse(String(estimatedEndAt)) - Date.now()).toBeGreaterThan(2 * 60_000);
    await run();
    const [row] = await list("/bulk-actions?limit=1");
    expect(row).toMatchObject({ progress: 1, estimatedEndAt: null });
  });

  test("is carried out once by several workers at the same time", async () => {
    for (let n = 0; n < 5; n += 1) await deadPush("x");
    const asked = await ask({ kind: "DISMISS", all: true });
    await Promise.all([run(), run(), run()]);
    expect((await admin.client.get(asked.headers.get("location") ?? "")).body).toMatchObject({
      matched: 5,
      changed: 5,
    });
    expect(await list("/jobs")).toEqual([]);
  });

  test("is stopped under way: the batch in hand ends, the rest is left alone, and what was changed is counted", async () => {
    await sql`
      insert into staged_jobs (queue, payload, dead_at, last_error)
      select 'push', '{}', now(), 'x' from generate_series(1, 30)`;
    const asked = await ask({ kind: "DISMISS", queue: "push" });
    const path = asked.headers.get("location") ?? "";
    const id = asked.string("id");
    let stopped: ReturnType<typeof admin.client.post> | undefined;
    await transaction(async (tx) => {
      await continueBulkAction(tx, id, 10);
      stopped = admin.client.post(`${path}/stop`, { why: "the wrong queue" });
      await until(async () => (await countBlocked()) > 0);
    });
    const left = {
      changed: 10,
      matched: 30,
      progress: 1 / 3,
      estimatedEndAt: null,
      settledAt: expect.any(String),
      stoppedWhy: "the wrong queue",
    };
    expect((await stopped)?.body).toMatchObject(left);
    await run();
    expect(await list("/jobs")).toHaveLength(20);
    expect((await admin.client.post(`${path}/stop`, { why: "again" })).body).toMatchObject(left);
    expect(await auditOf("BULK_ACTION_STOP")).toEqual([{ action: id, changed: "10", why: "the wrong queue" }]);
  });

  test("hands its jobs over at 2,000 a second, so that new ones come between", async () => {
    await sql`
      insert into staged_jobs (queue, payload, dead_at, last_error)
      select 'push', '{}', now(), 'x' from generate_series(1, 30)`;
    const asked = await ask({ kind: "REPLAY", queue: "push" });
    // in one transaction it is the same moment for all
    await transaction(async (tx) => {
      for (let batch = 0; batch < 3; batch += 1) await continueBulkAction(tx, asked.string("id"), 10);
    });
    expect([
      ...(await sql<{ jobs: number; ms: number }[]>`
        select count(*) as jobs, (extract(epoch from next_send_at - run_at) * 1000)::integer as ms
        from staged_jobs
        where queue = 'push'
        group by ms
        order by ms`),
    ]).toEqual([
      { jobs: 10, ms: 0 },
      { jobs: 10, ms: 5 },
      { jobs: 10, ms: 10 },
    ]);
  });

  test("is staged for a worker with its request", async () => {
    await ask({ kind: "DISMISS", queue: "sms" });
    const staged = await sql<{ payload: unknown }[]>`select payload from staged_jobs where queue = 'upkeep'`;
    expect([...staged]).toEqual([{ payload: { task: "bulk-actions" } }]);
  });
});

test("the overview has every queue, with what is due, dead and waits", async () => {
  await deadPush("x");
  await stageJob(sql, push, { notificationId: randomUUID() });
  await stageJob(sql, push, { notificationId: randomUUID() }, { runAt: new Date(Date.now() + 3_600_000) });
  const shown = await read("");
  expect(shown["queues"]).toContainEqual({
    queue: "push",
    due: 1,
    waiting: 1,
    dead: 1,
    oldestDueSeconds: expect.any(Number),
    stagedPerMinute: 0.6,
    donePerMinute: 0,
    pausedAt: null,
    pausedWhy: null,
    concurrency: null,
    perMinute: null,
  });
  expect(shown["queues"]).toContainEqual(expect.objectContaining({ queue: "geocode", due: 0, dead: 0 }));
});

const auditOf = async (action: string) =>
  (
    await sql<{ details: unknown }[]>`
      select details from audit_events where actor_id = ${admin.id}::uuid and action = ${action} order by id`
  ).map(({ details }) => details);

describe("a queue", () => {
  const change = (body: Record<string, unknown>) => admin.client.patch(`${ops}/queues/geocode`, { why, ...body });

  test("is paused and resumed: audited, signalled to the workers, and shown with the reason", async () => {
    let signals = 0;
    const unsubscribe = onLedSignal("queue-settings", () => (signals += 1));
    // listeners are called when listening begins
    await until(() => signals > 0);
    const before = signals;
    expect((await change({ paused: true })).body).toMatchObject({ pausedAt: expect.any(String), pausedWhy: why });
    await until(() => signals > before);
    unsubscribe();
    expect((await read(""))["queues"]).toContainEqual(expect.objectContaining({ queue: "geocode", pausedWhy: why }));
    // what is so already is no change
    await change({ paused: true, why: "again" });
    expect((await change({ paused: false })).body).toMatchObject({ pausedAt: null, pausedWhy: null });
    const audited = [...(await auditOf("QUEUE_PAUSE")), ...(await auditOf("QUEUE_RESUME"))];
    expect(audited).toEqual([
      { queue: "geocode", why },
      { queue: "geocode", why },
    ]);
  });

  test("runs another number of jobs at once, until it is as configured again", async () => {
    expect((await change({ concurrency: 7 })).body).toMatchObject({ concurrency: 7, pausedAt: null });
    expect((await change({ concurrency: null })).body).toMatchObject({ concurrency: null, perMinute: null });
    expect(await auditOf("QUEUE_CONCURRENCY")).toEqual([
      { queue: "geocode", concurrency: "7", why },
      { queue: "geocode", concurrency: "default", why },
    ]);
  });

  test("starts so many jobs a minute, until it has no limit again", async () => {
    expect((await change({ perMinute: 90 })).body).toMatchObject({ perMinute: 90, concurrency: null });
    expect((await change({ perMinute: null })).body).toMatchObject({ perMinute: null });
    expect(await auditOf("QUEUE_RATE")).toEqual([
      { queue: "geocode", perMinute: "90", why },
      { queue: "geocode", perMinute: "no limit", why },
    ]);
  });

  test.each([{}, { concurrency: 0 }, { concurrency: 1_001 }, { perMinute: 0 }])(
    "is not changed by %j",
    async (body) => {
      expect(outcome(await change(body))).toBe("400 VALIDATION_ERROR");
    },
  );

  test("that there is not is 404", async () => {
    expect(outcome(await admin.client.patch(`${ops}/queues/none`, { paused: true, why }))).toBe("404 NOT_FOUND");
  });
});

describe("parked POS events", () => {
  const settle = (body: Record<string, unknown>) => admin.client.post(`${ops}/pos-events/settle`, { why, ...body });

  async function park(of: cast.Bakery): Promise<number> {
    const eventId = randomUUID();
    const change = { kind: "order.status", orderExternalId: "1", status: "READY" } as const;
    const event = { provider: "generic", partnerId: of.id, account: of.id, eventId, change, requestId: "req" };
    await receivePosEvents(sql, [event], "WAIT");
    const jobId = await stageJob(sql, posEvents, { eventId: 1 });
    const [row] = await sql<{ id: number }[]>`
      update pos_events
      set status = 'PARKED', settled_at = now(), attempts = 5, job_id = ${jobId}::bigint, last_error = 'unknown item'
      where event_id = ${eventId}
      returning id`;
    await sql`update staged_jobs set done_at = now() where queue = 'pos-events' and payload ? 'partnerId'`;
    return row!.id;
  }
  const shown = (ids: number[]) =>
    sql<{ status: string; attempts: number; lastError: string | null }[]>`
      select status, attempts, last_error from pos_events where id = any (${ids}::bigint[]) order by id`;
  const openJobs = () =>
    sql<{ payload: unknown }[]>`select payload from staged_jobs where done_at is null and queue = 'pos-events'`;

  test("are replayed by number, of a partner, or all: their inboxes are drained", async () => {
    const other = await cast.bakery(client);
    const [first, second, third] = [await park(shop), await park(shop), await park(other)];
    expect((await settle({ kind: "REPLAY", ids: [first] })).body).toEqual({ changed: 1 });
    expect([...(await openJobs())]).toContainEqual({ payload: { partnerId: shop.id } });
    expect((await settle({ kind: "REPLAY", partnerId: shop.id })).body).toEqual({ changed: 1 });
    expect((await settle({ kind: "REPLAY", all: true })).body).toEqual({ changed: 1 });
    expect([...(await openJobs())]).toContainEqual({ payload: { partnerId: other.id } });
    const queued = { status: "QUEUED", attempts: 0, lastError: "unknown item" };
    expect([...(await shown([first, second, third]))]).toEqual([queued, queued, queued]);
    expect(await auditOf("POS_EVENTS_REPLAY")).toEqual([
      { events: String(first), changed: "1", why },
      { partner: shop.id, changed: "1", why },
      { changed: "1", why },
    ]);
  });

  test("that match are replayed or dismissed by a bulk action, however many; those that come in later are left alone", async () => {
    const other = await cast.bakery(client);
    await sql`
      insert into pos_events (partner_id, provider, account, event_id, change, status, settled_at, last_error, received_at)
      select ${other.id}::uuid, 'generic', 'till', 'bulk ' || n, '{"kind": "order.status"}', 'PARKED', now(), 'unknown item', now() - interval '1 hour'
      from generate_series(1, 10500) as n`;
    const [unlike, elsewhere] = [await park(other), await park(shop)];
    await sql`update pos_events set last_error = 'another reason' where id = ${unlike}::bigint`;
    const ask = (body: Record<string, unknown>) =>
      admin.client.post(`${ops}/bulk-actions`, { state: "PARKED", why, partnerId: other.id, ...body });
    const dismissed = await ask({ kind: "DISMISS", error: "UNKNOWN" });
    expect(dismissed.body).toMatchObject({ matched: 10_500, partnerId: other.id, state: "PARKED" });
    const late = await park(other);
    await runUpkeep(task({ task: "bulk-actions" }));
    expect((await admin.client.get(dismissed.headers.get("location") ?? "")).body).toMatchObject({
      changed: 10_500,
      progress: 1,
      settledAt: expect.any(String),
    });
    const [left] = await sql<{ dismissed: number }[]>`
      select count(*) as dismissed from pos_events where status = 'PROCESSED' and last_error = ${`dismissed: ${why}`} and event_id like 'bulk %'`;
    expect(left?.dismissed).toBe(10_500);
    expect((await shown([unlike, elsewhere, late])).map(({ status }) => status)).toEqual([
      "PARKED",
      "PARKED",
      "PARKED",
    ]);
    const audited = { state: "PARKED", partner: other.id, error: "UNKNOWN", why, matched: 10_500 };
    expect((await auditOf("POS_EVENTS_DISMISS")).at(-1)).toEqual(audited);
    await ask({ kind: "REPLAY" });
    await runUpkeep(task({ task: "bulk-actions" }));
    expect((await shown([unlike, elsewhere, late])).map(({ status }) => status)).toEqual([
      "QUEUED",
      "PARKED",
      "QUEUED",
    ]);
    expect([...(await openJobs())]).toContainEqual({ payload: { partnerId: other.id } });
  });

  test.each([
    { kind: "RUN", state: "PARKED", all: true },
    { kind: "REPLAY", state: "PARKED", queue: "push" },
    { kind: "REPLAY", state: "PARKED", argument: "partnerId=1" },
    { kind: "REPLAY", state: "DEAD", partnerId: randomUUID() },
  ])("are not what a bulk action is about that is %j", async (body) => {
    expect(outcome(await admin.client.post(`${ops}/bulk-actions`, { why, ...body }))).toBe("400 VALIDATION_ERROR");
  });

  test.each([{}, { all: false }])("are not settled by %j: what is meant must be said", async (which) => {
    expect(outcome(await settle({ kind: "DISMISS", ...which }))).toBe("400 VALIDATION_ERROR");
  });

  test("are dismissed with their jobs, and with the reason", async () => {
    const id = await park(shop);
    expect((await settle({ kind: "DISMISS", ids: [id] })).body).toEqual({ changed: 1 });
    expect([...(await shown([id]))]).toEqual([{ status: "PROCESSED", attempts: 5, lastError: `dismissed: ${why}` }]);
    expect(await openJobs()).toHaveLength(0);
    expect((await settle({ kind: "REPLAY", ids: [id] })).body).toEqual({ changed: 0 });
  });
});

describe("what runs by schedule is run now:", () => {
  const staged = () => sql<{ queue: string; payload: unknown }[]>`select queue, payload from staged_jobs order by id`;

  test("an upkeep task, which is audited", async () => {
    const { status, body } = await admin.client.post(`${ops}/upkeep/no-shows/run`, { why });
    expect(status).toBe(202);
    expect([...(await staged())]).toEqual([{ queue: "upkeep", payload: { task: "no-shows" } }]);
    expect(await auditOf("UPKEEP_RUN")).toEqual([{ task: "no-shows", job: String(body["jobId"]), why }]);
    expect(outcome(await admin.client.post(`${ops}/upkeep/nothing/run`, { why }))).toBe("404 NOT_FOUND");
  });

  test("the rollups of past days, a job for each", async () => {
    const run = (from: string, to: string) => admin.client.post(`${ops}/rollups/run`, { from, to, why });
    expect((await run("2026-02-27", "2026-03-01")).body).toEqual({ days: 3 });
    const days = ["2026-02-27", "2026-02-28", "2026-03-01"];
    expect([...(await staged())]).toEqual(days.map((day) => ({ queue: "rollups", payload: { day } })));
    for (const { payload } of await staged()) await rollUp(task(rollups.payload.parse(payload)));
    const done = await sql<{ day: string }[]>`
      select day::text from rollup_days where day between '2026-02-27' and '2026-03-01' order by rollup_days.day`;
    expect(done.map(({ day }) => day)).toEqual(days);
    expect(await auditOf("ROLLUP_RUN")).toEqual([{ from: "2026-02-27", to: "2026-03-01", why }]);
  });

  test.each([
    ["2026-03-01", "2026-02-28"],
    ["2026-03-01", "2999-01-01"],
    ["2020-01-01", "2026-01-01"],
  ])("not of the days from %s to %s", async (from, to) => {
    expect(outcome(await admin.client.post(`${ops}/rollups/run`, { from, to, why }))).toBe("400 VALIDATION_ERROR");
    expect(await staged()).toHaveLength(0);
  });
});

describe("the overview has", () => {
  test("the processes that are alive or silent, and their calls to third parties together", async () => {
    const beat = (id: string, silent: string, vendors: Record<string, string | number>[]) => {
      const facts = { statements: 1, transactions: 2, waiting: 0, replicas: [], vendors };
      return sql`
        insert into processes (id, role, version, started_at, beat_at, facts)
        values (${id}, 'WORKER', '1.2.3', now(), now() - ${silent}::interval, ${sql.json(facts)})`;
    };
    const fcm = { vendor: "push: fcm", calls: 10, failed: 1 };
    await beat("one", "5 seconds", [fcm]);
    await beat("other", "20 seconds", [fcm, { vendor: "SMS", calls: 1, failed: 0 }]);
    await beat("silent", "2 minutes", [fcm]);
    await beat("gone", "1 hour", []);
    await sql`update processes set facts = '{"of": "another release"}' where id = 'silent'`;
    const lastFailure = "2026-06-01T12:00:00.000Z";
    await sql`insert into vendor_calls (vendor, failed_at) values ('geocoder', ${lastFailure}::timestamptz)`;
    const { processes, vendors } = await read("");
    expect(processes).toEqual([
      expect.objectContaining({ id: "one", alive: true, version: "1.2.3", transactions: 2 }),
      expect.objectContaining({ id: "other", alive: true }),
      expect.objectContaining({ id: "silent", alive: false, transactions: 0 }),
    ]);
    expect(vendors).toEqual([
      { vendor: "geocoder", calls: 0, failed: 0, succeededAt: null, failedAt: lastFailure },
      { vendor: "push: fcm", calls: 20, failed: 2, succeededAt: null, failedAt: null },
      { vendor: "SMS", calls: 1, failed: 0, succeededAt: null, failedAt: null },
    ]);
  });

  test("the third parties that are paused in any process, from the first pause to the end of the last", async () => {
    await sql`delete from processes`;
    const at = (minute: number) => `2026-06-01T12:0${minute}:00.000Z`;
    const beat = (id: string, silent: string, since: number, until: number) => {
      const paused = [{ queue: "push", origin: "https://push.example", since: at(since), until: at(until) }];
      const facts = { statements: 0, transactions: 0, waiting: 0, replicas: [], vendors: [], paused };
      return sql`
        insert into processes (id, role, version, started_at, beat_at, facts)
        values (${id}, 'WORKER', '1.2.3', now(), now() - ${silent}::interval, ${sql.json(facts)})`;
    };
    await beat("one", "5 seconds", 2, 4);
    await beat("other", "5 seconds", 1, 3);
    await beat("silent", "2 minutes", 0, 9);
    const { paused } = await read("");
    const both = { queue: "push", origin: "https://push.example", since: at(1), until: at(4), processes: 2 };
    expect(paused).toEqual([both]);
  });

  test("the last run of each upkeep task, and how full the database is", async () => {
    await sql`delete from upkeep_runs`;
    await runUpkeep(task({ task: "expire-boxes" }));
    const { upkeep, database } = await read("");
    const ran = { startedAt: expect.any(String), ms: expect.any(Number), error: null };
    expect(upkeep).toContainEqual({ task: "expire-boxes", changed: 0, ...ran });
    expect(upkeep).toContainEqual({ task: "no-shows", startedAt: null, ms: null, changed: null, error: null });
    expect(database).toEqual({
      connections: expect.any(Number),
      maxConnections: expect.any(Number),
      bytes: expect.any(Number),
    });
  });
});

describe("the minutes of queues", () => {
  const record = () => runUpkeep(task({ task: "queue-figures" }));

  beforeEach(() => sql`delete from queue_minutes`);

  test("are recorded once, also those in which nothing happened", async () => {
    await sql`
      insert into staged_jobs (queue, payload, created_at, run_at, done_at)
      select 'push', '{}', at, at, case when n < 3 then at end
      from generate_series(1, 5) as n, (select date_trunc('minute', now()) - interval '30 seconds' as at) as minute`;
    await record();
    await record();
    const minutes = await list("/queues/push/minutes?hours=1");
    expect(minutes[0]).toMatchObject({ queue: "push", staged: 5, done: 2 });
    expect(Number(minutes[0]?.["oldestDueSeconds"])).toBeGreaterThanOrEqual(30);
    const nothing = { queue: "sms", staged: 0, done: 0, oldestDueSeconds: 0 };
    expect((await list("/queues/sms/minutes"))[0]).toEqual({ minute: minutes[0]?.["minute"], ...nothing });
  });

  test("that passed without a worker are missing until one is back, which records them", async () => {
    await sql`
      insert into queue_minutes (minute, queue, staged, done, oldest_due_seconds)
      select date_trunc('minute', now()) - n * interval '1 minute', 'upkeep', 0, 0, 0 from unnest(array[4, 5]) as n`;
    const [job] = await sql<{ staged: Date; done: Date }[]>`
      insert into staged_jobs (queue, payload, created_at, run_at, done_at)
      select 'push', '{}', at, at, at + interval '1 minute'
      from (select max(minute) + interval '90 seconds' as at from queue_minutes) as minute
      returning date_trunc('minute', created_at) as staged, date_trunc('minute', done_at) as done`;
    expect(await list("/queues/push/minutes?hours=1")).toHaveLength(2);
    await record();
    const minutes = await list("/queues/push/minutes?hours=1");
    const late = { queue: "push", oldestDueSeconds: null };
    expect(minutes).toContainEqual({ minute: job?.staged.toISOString(), staged: 1, done: 0, ...late });
    expect(minutes).toContainEqual({ minute: job?.done.toISOString(), staged: 0, done: 1, ...late });
  });
});
