import { afterAll, beforeEach, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { push, webhooks } from "../../queues/index.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import { insertBulkAction } from "../../sql/operators/bulk-actions.js";
import { anyJob } from "../../sql/operators/jobs.js";
import { runScript } from "../support/run-script.js";

const ops = (...args: string[]) => runScript("operate/main", args);
const sure = ["--why", "the vendor is back", "--yes"];

async function json(...args: string[]): Promise<unknown> {
  const { code, output } = await ops(...args, "--json");
  expect([code, output]).toEqual([0, expect.any(String)]);
  return JSON.parse(output);
}

async function deadPush(): Promise<string> {
  const id = await stageJob(sql, push, { notificationId: randomUUID() });
  await sql`update staged_jobs set dead_at = now(), attempts = 8, last_error = 'HTTP 503' where id = ${id}::bigint`;
  return id;
}

beforeEach(() => sql`truncate staged_jobs, queue_settings`);
afterAll(closeDatabase);

test("shows the state and the jobs, as tables or as JSON", async () => {
  const id = await deadPush();
  expect((await ops("now")).output).toMatch(/^queue .*\n[\s\S]*^push +0 +0 +0 +1 /m);
  const state = z.looseObject({ queues: z.array(z.looseObject({ queue: z.string(), dead: z.int() })) });
  expect(state.parse(await json("now")).queues).toContainEqual(expect.objectContaining({ queue: "push", dead: 1 }));
  expect((await ops("jobs", "--queue", "push", "--error", "503")).output).toMatch(
    new RegExp(`^${id} +push +DEAD +8 .* HTTP 503$`, "m"),
  );
  expect(await json("jobs", "--attempts", "8", "--staged-from", "2026-01-01")).toHaveLength(1);
  expect(await json("jobs", "--staged-before", "2026-01-01")).toEqual([]);
  expect(await json("jobs", "--argument", `notificationId=${randomUUID()}`)).toEqual([]);
  expect(await json("find", id)).toEqual([expect.objectContaining({ kind: "JOB", id })]);
});

test("says whose jobs are due, and whose POS events are not applied", async () => {
  const endpointId = randomUUID();
  await stageJob(sql, webhooks, { endpointId });
  expect(await json("backlog", "webhooks")).toEqual([expect.objectContaining({ endpointId, jobs: 1 })]);
  expect((await ops("backlog")).output).toBe("Nothing.\n");
});

test("does nothing without a reason and consent", async () => {
  const id = await deadPush();
  expect(await ops("replay", id)).toEqual({ code: 1, output: expect.stringContaining("--why") });
  expect(await ops("replay", id, "--why", "x")).toEqual({
    code: 1,
    output: "This would replay 1 jobs. Say --yes to do it.\n",
  });
  expect(await sql`select from staged_jobs where dead_at is not null`).toHaveLength(1);
});

test("replays jobs by number, and snoozes all that match", async () => {
  const [first] = [await deadPush(), await deadPush()];
  expect(await json("replay", first, ...sure)).toEqual([{ changed: 1 }]);
  const until = "2999-01-01T00:00:00Z";
  expect(await json("snooze", "--all", "--state", "DUE", "--until", until, ...sure)).toEqual([
    { matched: 1, changed: 1 },
  ]);
  const waiting = await sql<{ id: string }[]>`select id::text from staged_jobs where run_at = ${until}::timestamptz`;
  expect([...waiting]).toEqual([{ id: first }]);
});

test("dismisses all parked events that match, and lists those that are left", async () => {
  const partners = await sql<{ id: string }[]>`
    with city as (insert into cities (id, name, timezone) values ('parked', 'Parked', 'UTC') returning id)
    insert into partners (slug, name, city_id, address, latitude, longitude, status)
    select 'parked-' || n, 'Bakery', id, '', 0, 0, 'ACTIVE' from city, generate_series(1, 2) as n
    returning id`;
  for (const { id } of partners)
    await sql`
      insert into pos_events (partner_id, provider, account, event_id, change, status, settled_at, last_error, received_at)
      select ${id}::uuid, 'generic', 'till', n::text, '{"kind": "order.status"}', 'PARKED', now(), 'unknown item', now() - interval '1 minute'
      from generate_series(1, 2) as n`;
  const [of = ""] = partners.map(({ id }) => id);
  expect(await json("events", "dismiss", "--all", "--partner", of, "--error", "ITEM", ...sure)).toEqual([
    { matched: 2, changed: 2 },
  ]);
  expect(await json("events", "--partner", of)).toEqual([]);
  expect(await json("events")).toHaveLength(2);
});

test("lists the actions on all that match, and stops one that is under way", async () => {
  await deadPush();
  const id = await insertBulkAction(sql, {
    ...{ ...anyJob, partnerId: null, kind: "DISMISS", state: "DEAD", until: null, why: "a test", actorId: null },
  });
  expect(await json("actions", "--limit", "1")).toEqual([expect.objectContaining({ id, matched: 1, settledAt: null })]);
  expect(await json("stop", id, ...sure)).toEqual([
    expect.objectContaining({ id, changed: 0, stoppedWhy: "the vendor is back" }),
  ]);
  expect(await ops("stop", id, ...sure)).toEqual({ code: 1, output: expect.stringContaining("has ended already") });
  expect(await ops("stop", randomUUID(), ...sure)).toEqual({ code: 1, output: "There is no such action.\n" });
});

test("pauses a queue, and changes its concurrency and its rate, as the audit log has it", async () => {
  await ops("pause", "sms", ...sure);
  await ops("concurrency", "sms", "3", ...sure);
  expect(await json("rate", "sms", "90", ...sure)).toEqual([
    expect.objectContaining({ queue: "sms", pausedWhy: "the vendor is back", concurrency: 3, perMinute: 90 }),
  ]);
  const audited = await sql<{ action: string }[]>`
    select action from audit_events where actor_id is null and details ->> 'queue' = 'sms' order by id`;
  expect(audited.map(({ action }) => action)).toEqual(["QUEUE_PAUSE", "QUEUE_CONCURRENCY", "QUEUE_RATE"]);
});

test("lists webhook endpoints, stops and starts one, and has events sent again", async () => {
  const [row] = await sql<{ id: string }[]>`
    insert into webhook_endpoints (url, secret, position, failures, failing_since)
    select 'https://hooks.example.com/events', '', last_position, 3, now() from event_log
    returning id`;
  const id = row?.id ?? "";
  expect(await json("webhooks")).toEqual([expect.objectContaining({ id, host: "hooks.example.com", failures: 3 })]);
  expect(await json("webhooks", "stop", id, ...sure)).toEqual([{ changed: true }]);
  expect(await ops("webhooks", "resend", id, "--since", "2026-06-01", ...sure)).toMatchObject({ code: 1 });
  expect(await json("webhooks", "start", id, ...sure)).toEqual([{ changed: true }]);
  expect(await json("webhooks", "resend", id, "--since", "2026-06-01", ...sure)).toEqual([
    { events: 0, after: null, more: false },
  ]);
  expect(await json("webhooks", "--all")).toHaveLength(1);
});

test("what is wrong is refused, with the reason", async () => {
  const refused: [string[], string][] = [
    [["webhooks", "resend", randomUUID(), ...sure], "--since"],
    [["webhooks", "stop", randomUUID(), ...sure], "There is no such endpoint"],
    [[], "Usage: "],
    [["now", "--nothing"], "Usage: "],
    [["pause", "sms ", ...sure], "Invalid option"],
    [["replay", "--all", "--state", "DUE", ...sure], "replay is not for jobs that are DUE"],
    [["dismiss", "1", "--all", ...sure], "not both"],
    [["events", "dismiss", "1", "--all", ...sure], "not both"],
    [["disconnect", randomUUID(), ...sure], "No partner with this id is connected to a POS."],
    [["show", randomUUID()], "There is nothing with this id."],
    [["jobs", "--argument", "partnerId"], "must be name=value"],
    [["rollup", "--from", "2999-01-01", ...sure], "The days must be past"],
  ];
  const outcomes = await Promise.all(refused.map(([args]) => ops(...args)));
  expect(outcomes).toEqual(refused.map(([, reason]) => ({ code: 1, output: expect.stringContaining(reason) })));
});
