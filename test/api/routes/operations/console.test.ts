import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { push, sms } from "../../../../queues/index.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { stageJob } from "../../../../sql/outbox.js";
import { closeSignals } from "../../../../sql/signals.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { outcome, startApi, type Client } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { runEvents } from "../../../support/events.js";
import { task } from "../../../support/task.js";

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

beforeEach(() => sql`delete from staged_jobs`);

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
        expect.objectContaining({ what: expect.stringMatching(/^fan-out job \d+ done after 0 attempts$/) }),
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

  test("to admins only as an order: another id is 404", async () => {
    expect(outcome(await admin.client.get(`${ops}/orders/${randomUUID()}`))).toBe("404 NOT_FOUND");
  });
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

  test("what a request caused, directly and through other jobs", async () => {
    const { requestId, orderId } = await placeOrder();
    const { jobs } = await read(`/orders/${orderId}`);
    const found = await find(requestId);
    expect(found.length).toBeGreaterThan(2);
    expect(found.map(({ kind }) => kind)).toEqual(found.map(() => "JOB"));
    expect((await read(`/requests/${requestId}`))["jobs"]).toEqual(jobs);
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

describe("a bulk action", () => {
  const ask = (body: Record<string, unknown>) => admin.client.post(`${ops}/bulk-actions`, { why, ...body });
  const run = () => runUpkeep(task({ task: "bulk-actions" }));

  test("replays all that match, in batches, once, and says how many", async () => {
    await sql`
      insert into staged_jobs (queue, payload, dead_at, last_error, attempts)
      select 'push', '{}', now(), 'HTTP 503', 8 from generate_series(1, 2500)`;
    const others = [await deadPush("HTTP 400"), await deadSms("HTTP 503")];
    const asked = await ask({ kind: "REPLAY", queue: "push", error: "503" });
    expect(asked.body).toMatchObject({ matched: 2_500, changed: 0, settledAt: null });
    const later = await deadPush("HTTP 503");
    await run();
    await run();
    const path = asked.headers.get("location") ?? "";
    expect((await admin.client.get(path)).body).toMatchObject({ changed: 2_500, settledAt: expect.any(String) });
    expect(await Promise.all([...others, later].map(stateOf))).toEqual(["DEAD", "DEAD", "DEAD"]);
    const [{ replayed } = { replayed: 0 }] = await sql<{ replayed: number }[]>`
      select count(*) as replayed from staged_jobs where attempts = 0 and queue = 'push' and dead_at is null`;
    expect(replayed).toBe(2_500);
  });

  test("is carried out once by several workers at the same time", async () => {
    for (let n = 0; n < 5; n += 1) await deadPush("x");
    const asked = await ask({ kind: "DISMISS" });
    await Promise.all([run(), run(), run()]);
    expect((await admin.client.get(asked.headers.get("location") ?? "")).body).toMatchObject({
      matched: 5,
      changed: 5,
    });
    expect(await list("/jobs")).toEqual([]);
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
  });
  expect(shown["queues"]).toContainEqual(expect.objectContaining({ queue: "geocode", due: 0, dead: 0 }));
});
