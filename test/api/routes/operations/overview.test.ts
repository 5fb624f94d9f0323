import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { push } from "../../../../queues/index.js";
import { sql } from "../../../../sql/db.js";
import { stageJob } from "../../../../sql/outbox.js";
import { onLedSignal } from "../../../../sql/signals.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { outcome } from "../../../support/api.js";
import { admin, auditOf, deadPush, inHours, list, ops, read, why } from "../../../support/operator-scene.js";
import { task } from "../../../support/task.js";
import { until } from "../../../support/until.js";

test("the overview has every queue, with what is due, dead and waits", async () => {
  await deadPush("x");
  await stageJob(sql, push, { notificationId: randomUUID() });
  await stageJob(sql, push, { notificationId: randomUUID() }, { runAt: inHours(1) });
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
