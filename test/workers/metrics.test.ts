import { once } from "node:events";
import { afterAll, expect, test } from "@jest/globals";

process.env["HOST"] = "127.0.0.1";
process.env["METRICS_TOKEN"] = "a-token-for-metrics";
const { version } = await import("../../lib/process/version.js");
const { observeJob, serveMetrics } = await import("../../workers/metrics.js");

const stopping = new AbortController();
const server = serveMetrics(0, stopping.signal);
await once(server, "listening");
const address = server.address();
const base = `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : ""}`;

afterAll(() => void server.close());

test("metrics show durations by queue and outcome, and require the token", async () => {
  observeJob({ queue: "push", outcome: "done" }, 0.02);
  expect((await fetch(`${base}/metrics`)).status).toBe(401);
  expect((await fetch(`${base}/metrics`, { headers: { authorization: "Bearer a-token-for-nothing" } })).status).toBe(
    401,
  );
  const answer = await fetch(`${base}/metrics`, { headers: { authorization: "Bearer a-token-for-metrics" } });
  expect(await answer.text()).toContain('job_duration_seconds_count{queue="push",outcome="done"} 1');
});

test("a process is healthy until it stops", async () => {
  const answer = await fetch(`${base}/healthz`);
  expect([answer.status, await answer.json()]).toEqual([200, { status: "ok", version }]);
  stopping.abort();
  expect((await fetch(`${base}/healthz`)).status).toBe(503);
  expect((await fetch(`${base}/else`)).status).toBe(404);
});
