import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Client } from "../../support/api.js";
import { describeWithRedis, startRedis, type TestRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";

const code = "123456";

describeWithRedis("the dashboard during a Redis outage", () => {
  let redis: TestRedis;
  let client: Client;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    redis = await startRedis();
    await redis.kill();
    Object.assign(process.env, { OTP_FIXED_CODE: code, REDIS_URL: redis.url });
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
    await redis.stop();
  });

  test("admins can still sign in, and see the queues as soon as Redis is back", async () => {
    const { admin } = await import("../../support/cast.js");
    const { phone } = await admin(client);
    const post = (path: string, form: Record<string, string>) =>
      fetch(`${client.url}/admin/queues${path}`, {
        method: "POST",
        redirect: "manual",
        headers: { origin: client.url },
        body: new URLSearchParams(form),
      });
    expect((await post("/sign-in", { phone })).status).toBe(200);
    const [cookie = ""] = ((await post("/sign-in/code", { phone, code })).headers.get("set-cookie") ?? "").split(";");
    const look = async () => (await fetch(`${client.url}/admin/queues/api/queues`, { headers: { cookie } })).status;

    expect(await look()).toBe(503);
    await redis.restart();
    await until(async () => (await look()) === 200);
    await redis.kill();
    expect(await look()).toBe(503);
    await redis.restart();
    await until(async () => (await look()) === 200);
  });
});
