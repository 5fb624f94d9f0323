import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { sms } from "../../queues/sms.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import { Client } from "../support/api.js";
import { user } from "../support/cast.js";
import { prepareService, type Line, type Service } from "../support/programs.js";
import { describeWithRedis, startRedis, type TestRedis } from "../support/redis.js";
import { until } from "../support/until.js";

let redis: TestRedis;
let service: Service;

afterAll(closeDatabase);

const linesOf = (lines: readonly Line[], msg: string) => lines.filter((line) => line.msg === msg);
const requestLine = (id: string) =>
  until(() => linesOf(service.api.lines, "request").find(({ requestId }) => requestId === id));

describeWithRedis("the log", () => {
  beforeAll(async () => {
    redis = await startRedis();
    service = await prepareService({ REDIS_URL: redis.url });
    await service.start();
  });
  afterAll(async () => {
    await service.stop();
    await redis.stop();
  });

  test("has one line per request, with its caller, and why it failed", async () => {
    const someone = await user(service.client);
    const headers = { "x-request-id": `read-${randomUUID()}` };
    await someone.client.get("/api/v1/users/me", { headers });
    expect(await requestLine(headers["x-request-id"])).toMatchObject({
      level: "info",
      method: "GET",
      route: "/api/v1/users/me",
      status: 200,
      ms: expect.any(Number),
      userId: someone.id,
    });
    const failed = { "x-request-id": `failed-${randomUUID()}` };
    await someone.client.get(`/api/v1/orders/${randomUUID()}`, { headers: failed });
    expect(await requestLine(failed["x-request-id"])).toMatchObject({
      level: "info",
      status: 404,
      code: "NOT_FOUND",
      userId: someone.id,
    });
    expect(
      linesOf(service.api.lines, "request").filter(({ requestId }) => requestId === failed["x-request-id"]),
    ).toHaveLength(1);
  });

  test("has no line for a probe that succeeds", async () => {
    const probe = { "x-request-id": `probe-${randomUUID()}` };
    await fetch(`${service.client.url}/healthz`, { headers: probe });
    const after = { "x-request-id": `after-${randomUUID()}` };
    await new Client(service.client.url).get("/api/v1/cities", { headers: after });
    await requestLine(after["x-request-id"]);
    expect(service.api.lines.some(({ requestId }) => requestId === probe["x-request-id"])).toBe(false);
  });

  test("has one line per finished job", async () => {
    await stageJob(sql, sms, { otpId: randomUUID() });
    const finished = () =>
      service.workers.flatMap(({ lines }) => linesOf(lines, "job finished").filter(({ queue }) => queue === "sms"));
    await until(() => finished().length > 0);
    expect(finished()).toEqual([expect.objectContaining({ level: "info", outcome: "done", ms: expect.any(Number) })]);
  });

  test("names the broker that is in trouble, and its recovery, in every process", async () => {
    const processes = [service.api, ...service.workers];
    const broker = `Redis at ${new URL(redis.url).host}`;
    await redis.kill();
    await until(() => processes.every(({ lines }) => linesOf(lines, "the broker is in trouble").length > 0));
    expect(processes.every(({ lines }) => linesOf(lines, "the broker answers again").length === 0)).toBe(true);
    await redis.restart();
    await until(() => processes.every(({ lines }) => linesOf(lines, "the broker answers again").length > 0));
    for (const { lines } of processes)
      for (const msg of ["the broker is in trouble", "the broker answers again"])
        expect(linesOf(lines, msg)[0]).toMatchObject({ broker });
  });
});
