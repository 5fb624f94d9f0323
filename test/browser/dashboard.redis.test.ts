import { afterAll } from "@jest/globals";
import { describeWithRedis, redisAvailable, startRedis } from "../support/redis.js";

if (redisAvailable) {
  const code = "123456";
  const server = await startRedis();
  process.env["OTP_FIXED_CODE"] = code;
  process.env["REDIS_URL"] = server.url;
  const { describeDashboard } = await import("./dashboard.js");
  afterAll(() => server.stop());
  describeDashboard("Redis", code);
} else {
  describeWithRedis("the dashboard in a browser, with BullMQ on Redis", () => undefined);
}
