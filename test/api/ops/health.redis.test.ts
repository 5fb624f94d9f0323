import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { z } from "zod";
import type { Client } from "../../support/api.js";
import { startProxy, type Proxy } from "../../support/proxy.js";
import { describeWithRedis, startClusterNode, startRedis, type TestRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";

const Ready = z.object({ queue: z.string() });

describeWithRedis("health and metrics during a Redis outage", () => {
  let redis: TestRedis;
  let proxy: Proxy;
  let client: Client;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    redis = await startRedis();
    proxy = await startProxy(redis.url);
    process.env["REDIS_URL"] = proxy.url;
    const { startApi } = await import("../../support/api.js");
    ({ client, stop } = await startApi());
  });

  afterAll(async () => {
    const { closeBroker } = await import("../../../queues/broker.js");
    const { closeDatabase } = await import("../../../sql/db.js");
    const { closeSignals } = await import("../../../sql/signals.js");
    await stop();
    await Promise.all([closeBroker(), closeSignals()]);
    await closeDatabase();
    await proxy.close();
    await redis.stop();
  });

  const queueState = async () => {
    const answer = await fetch(`${client.url}/readyz`);
    const { queue } = Ready.parse(await answer.json());
    return `${answer.status} ${queue}`;
  };
  const metrics = async () => (await fetch(`${client.url}/metrics`)).text();

  test("a process stays ready without Redis, and reports it", async () => {
    await until(async () => (await queueState()) === "200 ok");
    await until(async () => (await metrics()).includes('queue_jobs{queue="push",state="waiting"} 0'));

    await redis.kill();
    await until(async () => (await queueState()) === "200 unreachable");
    await until(async () => !(await metrics()).includes("queue_jobs{"));
    expect(await metrics()).toContain("outbox_lag_seconds 0");

    await redis.restart();
    await until(async () => (await queueState()) === "200 ok");
    await until(async () => (await metrics()).includes('queue_jobs{queue="push",state="waiting"} 0'));

    redis.freeze();
    await until(async () => (await queueState()) === "200 unreachable");
    await until(async () => !(await metrics()).includes("queue_jobs{"));
    redis.thaw();
    await until(async () => (await queueState()) === "200 ok");
  });

  test("a process whose REDIS_URL leads to a node of a cluster stays ready, and says what is wrong", async () => {
    const node = await startClusterNode();
    proxy.direct(node.url);
    proxy.cut();
    const words = "REDIS_URL names one node of a cluster and must begin with redis+cluster:";
    await until(async () => (await queueState()) === `200 ${words}`);
    await node.stop();
  });
});
