import { afterAll, expect, test } from "@jest/globals";

process.env["METRICS_TOKEN"] = "a-token-for-metrics";
const { closeBroker, openQueue } = await import("../../../queues/broker.js");
const { contracts, sms, upkeep } = await import("../../../queues/index.js");
const { closeDatabase, sql } = await import("../../../sql/db.js");
const { numberEvents } = await import("../../../sql/queries/events.js");
const { updateHeartbeat } = await import("../../../sql/queries/heartbeats.js");
const { stageJob } = await import("../../../sql/outbox.js");
const { closeSignals } = await import("../../../sql/signals.js");
const { startApi } = await import("../../support/api.js");
const { bakery, listBox, user } = await import("../../support/cast.js");
const { task } = await import("../../support/task.js");
const { until } = await import("../../support/until.js");
const { rollUp } = await import("../../../workers/rollups.js");
const { client, stop } = await startApi();

afterAll(async () => {
  await stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

const scrape = (authorization = "Bearer a-token-for-metrics") =>
  fetch(`${client.url}/metrics`, { headers: { authorization } });

/**
 * A new reading: the value of each sample by its name and labels, as written; undefined when it is absent. Metrics are read at
 * most once a second; what a test changes is in the next reading.
 */
async function read(): Promise<(name: string) => number | undefined> {
  const before = await (await scrape()).text();
  let text = before;
  await until(async () => (text = await (await scrape()).text()) !== before);
  const samples = text.split("\n").map((line) => line.split(/ (?=[^ ]*$)/));
  const values = new Map(samples.map(([name = "", value]) => [name, Number(value)]));
  return (name) => values.get(name);
}

test("the metrics require their token", async () => {
  const { client: someone } = await user(client);
  for (const authorization of ["", "Bearer", "Bearer a-token-for-metricz", `Bearer ${someone.token ?? ""}`]) {
    const answer = await scrape(authorization);
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ code: "UNAUTHORIZED" });
  }
  const answer = await scrape();
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  // without traces there is nothing that OpenMetrics could say more
  const headers = { authorization: "Bearer a-token-for-metrics", accept: "application/openmetrics-text" };
  const other = await fetch(`${client.url}/metrics`, { headers });
  expect(other.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
});

test("the metrics are read once a second, however many ask", async () => {
  // each of these requests is counted, so two readings differ
  const text = async () => (await scrape()).text();
  await until(async () => (await text()) === (await text()));
  await read();
});

test("requests are counted by the declared path, never by the requested one", async () => {
  const { client: someone } = await user(client);
  await client.get("/api/v1/boxes/01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f");
  await client.get("/api/v1/boxes/nonsense");
  await client.get("/nowhere/at/all");
  await someone.get("/api/v1/users/me");
  const sample = await read();
  const count = (labels: string) => sample(`http_request_duration_seconds_count{${labels}}`);
  expect(count('method="GET",route="/api/v1/boxes/:id",status="404"')).toBe(2);
  expect(count('method="GET",route="/api/v1/users/me",status="200"')).toBe(1);
  expect(count('method="GET",route="none",status="404"')).toBe(1);
  expect(await (await scrape()).text()).not.toMatch(/nonsense|nowhere/);
});

test("the outbox exports its lag and its dead jobs, the broker its depth", async () => {
  let sample = await read();
  expect(sample("outbox_lag_seconds")).toBe(0);
  expect(sample('outbox_dead_jobs{queue="upkeep"}')).toBe(0);
  const id = await stageJob(sql, upkeep, { task: "canary" }, { runAt: new Date(Date.now() - 60_000) });
  sample = await read();
  expect(sample("outbox_lag_seconds")).toBeGreaterThanOrEqual(60);
  await sql`update staged_jobs set dead_at = now() where id = ${id}::bigint`;
  await openQueue(upkeep).add("canary", { task: "canary" }, { jobId: "9.0" });
  sample = await read();
  expect(sample("outbox_lag_seconds")).toBe(0);
  expect(sample('outbox_dead_jobs{queue="upkeep"}')).toBe(1);
  expect(sample('queue_jobs{queue="upkeep",state="waiting"}')).toBe(1);
  for (const { queue } of contracts) expect(sample(`queue_jobs{queue="${queue}",state="failed"}`)).toBe(0);
});

test("the event log exports how long events wait for their position", async () => {
  await numberEvents(sql, 1_000);
  expect((await read())("event_log_lag_seconds")).toBe(0);
  await sql`insert into new_events (type, at, data) values ('campaign.completed', now() - interval '1 minute', '{}')`;
  expect((await read())("event_log_lag_seconds")).toBeGreaterThanOrEqual(60);
  await numberEvents(sql, 1_000);
  expect((await read())("event_log_lag_seconds")).toBe(0);
});

test("past days are counted as due until they are rolled up", async () => {
  const id = await listBox(await bakery(client));
  await sql`update boxes set created_at = now() - interval '3 days' where id = ${id}::uuid`;
  expect((await read())("rollup_due_days")).toBe(3);
  await rollUp(task({ days: "DUE" }));
  expect((await read())("rollup_due_days")).toBe(0);
});

test("a queue that an operator has paused is shown, with its waiting jobs", async () => {
  await sql`insert into queue_settings (queue, paused_at, paused_why) values ('sms', now(), 'a test')`;
  await openQueue(sms).add("trial", {}, { jobId: "9.0" });
  await openQueue(sms).pause();
  const sample = await read();
  expect([sample('queue_paused{queue="sms"}'), sample('queue_paused{queue="push"}')]).toEqual([1, 0]);
  expect(sample('queue_jobs{queue="sms",state="waiting"}')).toBe(1);
  await openQueue(sms).obliterate();
  await sql`delete from queue_settings`;
});

test("the canary's age shows whether workers run jobs", async () => {
  // before any worker has run, the age is that of this process
  const uptime = process.uptime();
  expect((await read())("worker_canary_age_seconds")).toBeGreaterThanOrEqual(uptime);
  await updateHeartbeat(sql, "canary");
  await sql`update heartbeats set beat_at = now() - interval '90 seconds'`;
  expect((await read())("worker_canary_age_seconds")).toBeGreaterThanOrEqual(90);
});

test("the pool's use and the process's own figures are exported", async () => {
  const sample = await read();
  expect(sample('database_pool{pool="transactions",state="waiting"}')).toBe(0);
  expect(sample('database_pool{pool="statements",state="running"}')).toBeGreaterThanOrEqual(0);
  expect(sample("nodejs_eventloop_lag_seconds")).toBeGreaterThanOrEqual(0);
});
