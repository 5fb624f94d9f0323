import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { posEvents, push } from "../../../../queues/index.js";
import { sql } from "../../../../sql/db.js";
import { completeJob, stageJob } from "../../../../sql/outbox.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { outcome } from "../../../support/api.js";
import {
  admin,
  auditOf,
  deadPush,
  deadSms,
  giveUp,
  inHours,
  list,
  openPush,
  ops,
  stateOf,
  why,
} from "../../../support/operator-scene.js";
import { task } from "../../../support/task.js";

const jobsOf = async (state: string) => (await list(`/jobs?state=${state}`)).map(({ id }) => id);

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
    const waiting = Number(await stageJob(sql, push, { notificationId }, { runAt: inHours(1) }));
    const other = await deadPush("HTTP 503");
    await openPush();
    await openPush(inHours(1));
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

describe("open jobs", () => {
  const settle = (body: Record<string, unknown>) => admin.client.post(`${ops}/jobs/settle`, { why, ...body });

  test("are run now, snoozed and cancelled by number; dead ones are left alone", async () => {
    const [due, waiting, dead] = [await openPush(), await openPush(inHours(1)), await deadPush("x")];
    const ids = [due, waiting, dead];
    expect((await settle({ kind: "RUN", ids })).body).toEqual({ changed: 2 });
    expect(await jobsOf("DUE")).toEqual([waiting, due]);
    const time = inHours(1);
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
    await settle({ kind: "SNOOZE", ids: [id], until: inHours(1).toISOString() });
    expect(await completeJob(sql, { id: String(id), generation: row!.generation })).toBe(false);
  });

  test.each([
    [{ kind: "SNOOZE" }],
    [{ kind: "SNOOZE", until: new Date(Date.now() - 1_000).toISOString() }],
    [{ kind: "CANCEL", until: inHours(1).toISOString() }],
  ])("are not changed by %j", async (body) => {
    expect(outcome(await settle({ ids: [1], ...body }))).toBe("400 VALIDATION_ERROR");
  });
});
