import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { adEvents, push } from "../../queues/index.js";
import { batches, closeDatabase, contended, lookups, sql, transaction, type Db } from "../../sql/db.js";
import { inBatches } from "../../sql/in-batches.js";
import { replayJob, settleJobs } from "../../sql/operators/jobs.js";
import {
  claimDueJobs,
  completeJobs,
  onJobsDue,
  releaseJobs,
  resendJobs,
  snoozeJob,
  stageJob,
  stageJobs,
  startJobs,
  type JobRun,
} from "../../sql/outbox.js";
import { insertAdBatch } from "../../sql/queries/ad-batches.js";
import { bringDeferredForward, updateNotificationStatus } from "../../sql/queries/notifications.js";
import { receivePosEvents } from "../../sql/queries/pos-events.js";
import { closeSignals, onSignal, signal } from "../../sql/signals.js";
import { until } from "../support/until.js";

const HOUR_MS = 3_600_000;

let signals = 0;
let partnerId: string;
let userId: string;

const newPush = () => ({ notificationId: randomUUID() });

/** Receives every signal sent before. */
async function catchUp(): Promise<void> {
  const name = `caught-up-${randomUUID()}`;
  const caughtUp = new Promise<void>((resolve) => onSignal(name, resolve));
  await signal(sql, name, "");
  await caughtUp;
}

beforeAll(async () => {
  const [partner] = await sql<{ id: string }[]>`
    with city as (insert into cities (id, name, timezone) values ('outbox', 'Outbox', 'UTC') returning id)
    insert into partners (slug, name, city_id, address, latitude, longitude, status)
    select 'outbox', 'Outbox', id, '', 0, 0, 'ACTIVE' from city
    returning id`;
  const [user] = await sql<
    { id: string }[]
  >`insert into users (service_id, phone) values ('SF-OUTBOX', '+79000000000') returning id`;
  partnerId = partner!.id;
  userId = user!.id;
  onJobsDue(() => (signals += 1));
  // listeners are called when listening begins
  await until(() => signals > 0);
});

afterAll(async () => {
  await closeSignals();
  await closeDatabase();
});

async function insertDeferred(): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into notifications (user_id, kind) values (${userId}::uuid, 'ORDER_READY') returning id`;
  await updateNotificationStatus(sql, row!.id, { status: "DEFERRED", reason: "quiet hours" });
  return row!.id;
}

async function insertDead(): Promise<string> {
  const id = await stageJob(sql, push, newPush(), { runAt: new Date(Date.now() + HOUR_MS) });
  await sql`update staged_jobs set dead_at = now() where id = ${id}::bigint`;
  return id;
}

const receive = (db: Db, eventId: string) =>
  receivePosEvents(
    db,
    [
      {
        provider: "generic",
        partnerId,
        account: "outbox",
        eventId,
        change: { kind: "order.status", orderExternalId: "1", status: "READY" },
        requestId: "req",
      },
    ],
    "WAIT",
  );

describe("relays are woken without polling by", () => {
  const kinds: Record<string, () => Promise<unknown>> = {
    "one job": () => stageJob(sql, push, newPush()),
    "one job over the connections of look-ups": () => stageJob(lookups, push, newPush()),
    "one job over the connections that may wait": () => stageJob(contended, push, newPush()),
    "many jobs": () => stageJobs(sql, push, [{ payload: newPush() }, { payload: newPush() }]),
    "a transaction": () => transaction((tx) => stageJob(tx, push, newPush())),
    "a transaction that goes on": () =>
      transaction(async (tx) => {
        await stageJob(tx, push, newPush());
        await tx`select`;
      }),
    "a statement that changes something and stages": () =>
      insertAdBatch(sql, { id: randomUUID(), day: "2026-01-01", counts: [] }),
    "a function deep in another": () => receive(sql, randomUUID()),
    "a job brought forward": async () => {
      const id = await insertDeferred();
      await stageJob(sql, push, { notificationId: id }, { runAt: new Date(Date.now() + HOUR_MS), key: id });
      await transaction((tx) => bringDeferredForward(tx, userId));
    },
    "a dead job that is replayed": async () => replayJob(sql, await insertDead()),
    "dead jobs that are replayed together": async () =>
      settleJobs(sql, "REPLAY", [Number(await insertDead()), Number(await insertDead())], null),
  };

  test.each(Object.keys(kinds))("%s", async (kind) => {
    await catchUp();
    const before = signals;
    await kinds[kind]!();
    await until(() => signals > before);
  });
});

test("rolled-back jobs and jobs due later wake no relay", async () => {
  await catchUp();
  const before = signals;
  await expect(
    transaction(async (tx) => {
      await stageJob(tx, push, newPush());
      throw new Error("no");
    }),
  ).rejects.toThrow("no");
  await expect(sql`select stage_job('push', '{}'), 1 / (random() * 0)::integer`).rejects.toThrow("int4div");
  // nor does the next transaction of that session
  await transaction((tx) => stageJob(tx, push, newPush(), { runAt: new Date(Date.now() + HOUR_MS) }));
  await stageJobs(sql, push, [{ payload: newPush(), runAt: new Date(Date.now() + HOUR_MS) }]);
  await catchUp();
  expect(signals).toBe(before);
});

test("of many jobs each keeps its cause and its time", async () => {
  const [now, later] = [newPush(), newPush()];
  const runAt = new Date(Date.now() + HOUR_MS);
  const before = signals;
  await stageJobs(sql, push, [
    { payload: now, requestId: "one" },
    { payload: later, requestId: "other", runAt },
  ]);
  await until(() => signals > before);
  const rows = await sql<{ requestId: string | null; dueAt: Date }[]>`
    select request_id, greatest(run_at, next_send_at) as due_at
    from staged_jobs
    where payload in (${sql.json(now)}, ${sql.json(later)})
    order by id`;
  expect(rows.map(({ requestId }) => requestId)).toEqual(["one", "other"]);
  expect(rows[0]!.dueAt.getTime()).toBeLessThan(Date.now() + HOUR_MS / 2);
  expect(rows[1]!.dueAt).toEqual(runAt);
});

test("an open job is found by its key, through an index", async () => {
  const key = randomUUID();
  const id = await stageJob(sql, adEvents, { batchId: key }, { key });
  const found = () => sql<{ id: string }[]>`select id::text from open_jobs where queue = 'ad-events' and key = ${key}`;
  expect(await found()).toEqual([{ id }]);
  await sql`select complete_job(${id}::bigint)`;
  expect(await found()).toEqual([]);
  const plan = await transaction(async (tx) => {
    // among few jobs any index will do
    await tx`select stage_job('ad-events', '{}') from generate_series(1, 1000)`;
    await tx`analyze staged_jobs`;
    return tx<{ "QUERY PLAN": string }[]>`
      explain select from open_jobs where queue = 'ad-events' and key = any (array['a', 'b']::text[])`;
  });
  expect(JSON.stringify(plan)).toContain("staged_jobs_open_by_key");
});

test("of jobs that are started or completed together, one that a transaction has locked delays no other", async () => {
  const later = { runAt: new Date(Date.now() + HOUR_MS) };
  const [free, locked] = [await stageJob(sql, push, newPush(), later), await stageJob(sql, push, newPush(), later)];
  const runOf = async (id: string) =>
    (await sql<JobRun[]>`select id::text, generation from staged_jobs where id = ${id}::bigint`)[0]!;
  const runs = [await runOf(locked), await runOf(free)] as const;
  const unknown = { id: "0", generation: 0 };
  const start = inBatches((batch: readonly JobRun[]) => startJobs(batches, batch, contended));
  const complete = inBatches((batch: readonly JobRun[]) => completeJobs(batches, batch, contended));
  /** Asks for both in one batch, and for an unknown one in the next, while one is locked; returns the answers in that order. */
  async function askWhileLocked<Result>(ask: (run: JobRun) => Promise<Result>): Promise<Result[]> {
    let hasAnswered = false;
    const { waiting, others } = await transaction(async (tx) => {
      await tx`select from staged_jobs where id = ${locked}::bigint for update`;
      const [first, second] = [ask(runs[0]), ask(runs[1])];
      const waiting = first.finally(() => (hasAnswered = true));
      const others = [await second, await ask(unknown)];
      expect(hasAnswered).toBe(false);
      return { waiting: [waiting], others };
    });
    return [...(await Promise.all(waiting)), ...others];
  }

  expect(await askWhileLocked(start)).toMatchObject([{ attempts: 1 }, { attempts: 1 }, undefined]);
  expect(await askWhileLocked(complete)).toEqual([true, true, false]);
  expect(await Promise.all([...runs, unknown].map(complete))).toEqual([false, false, false]);
});

test("a job that snoozed although its hand-over failed is not handed over before its time", async () => {
  const [ran, lost] = [await stageJob(sql, push, newPush()), await stageJob(sql, push, newPush())];
  const claimed = await claimDueJobs(sql, [push.queue], 1_000);
  const run = claimed.find(({ id }) => id === ran)!;
  await snoozeJob(sql, ran, run.generation, { until: new Date(Date.now() + HOUR_MS), later: 0, spent: false });
  await releaseJobs(sql, claimed);
  const again = (await claimDueJobs(sql, [push.queue], 1_000)).map(({ id }) => id);
  expect(again).toContain(lost);
  expect(again).not.toContain(ran);
});

test("after a loss of the broker, many jobs become due in several statements", async () => {
  await sql`delete from staged_jobs`;
  await stageJobs(
    sql,
    push,
    Array.from({ length: 5_001 }, () => ({ payload: newPush() })),
  );
  await sql`update staged_jobs set sends = 1, next_send_at = now() + interval '14 minutes'`;
  await sql`create table resent (jobs bigint)`;
  await sql`
    create function note_resent() returns trigger language plpgsql as $$
    begin
      insert into resent select count(*) from changed;
      return null;
    end
    $$`;
  await sql`
    create trigger note_resent after update on staged_jobs referencing new table as changed
    for each statement execute function note_resent()`;

  expect(await resendJobs(sql, [push.queue])).toBe(5_001);
  await sql`drop trigger note_resent on staged_jobs`;
  expect(await sql`select jobs from resent order by jobs`).toEqual([{ jobs: 1 }, { jobs: 5_000 }]);
  expect(await sql`select from staged_jobs where sends > 0 or next_send_at > now()`).toHaveLength(0);
  await sql`delete from staged_jobs`;
});

test("a job is due while it is open and its time has come", async () => {
  const isDue = async (id: string) =>
    (await sql<{ due: boolean | null }[]>`select is_job_due(${id}::bigint)::boolean as due`)[0]?.due;
  const [due, dead, later] = [
    await stageJob(sql, push, newPush()),
    await stageJob(sql, push, newPush()),
    await stageJob(sql, push, newPush(), { runAt: new Date(Date.now() + HOUR_MS) }),
  ];
  await sql`update staged_jobs set dead_at = now() where id = ${dead}::bigint`;
  expect(await Promise.all([due, dead, later, "0"].map(isDue))).toEqual([true, false, false, false]);
  await sql`select complete_job(${due}::bigint)`;
  expect(await isDue(due)).toBe(false);
});
