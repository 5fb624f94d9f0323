import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { sms } from "../../../../queues/index.js";
import { sql, transaction } from "../../../../sql/db.js";
import { continueBulkAction } from "../../../../sql/operators/bulk-actions.js";
import { stageJob } from "../../../../sql/outbox.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { outcome } from "../../../support/api.js";
import { countBlocked } from "../../../support/locks.js";
import {
  admin,
  auditOf,
  deadPush,
  deadSms,
  inHours,
  list,
  openPush,
  ops,
  stateOf,
  why,
} from "../../../support/operator-scene.js";
import { task } from "../../../support/task.js";
import { until } from "../../../support/until.js";

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
    const time = kind === "SNOOZE" ? { until: inHours(2).toISOString() } : {};
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
