import { afterAll } from "@jest/globals";
import { newVapidKeys } from "../../lib/process/push-keys.js";
import { startWebPush } from "../support/push/web-push.js";
import { describeWithRedis, redisAvailable, startRedis } from "../support/redis.js";

if (redisAvailable) {
  const code = "123456";
  const server = await startRedis();
  const web = await startWebPush();
  Object.assign(process.env, newVapidKeys(), {
    OTP_FIXED_CODE: code,
    REDIS_URL: server.url,
    ALLOW_PRIVATE_ADDRESSES: "1",
  });
  const { describeDashboard } = await import("./dashboard.js");
  afterAll(() => server.stop());
  describeDashboard({ broker: "Redis", code, web });
} else {
  describeWithRedis("the dashboard in a browser, with BullMQ on Redis", () => undefined);
}
