import { afterAll } from "@jest/globals";
import { startFcm } from "../support/push/fcm.js";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";

if (redisAvailable) {
  const code = "123456";
  const server = await startRedis();
  const fcm = await startFcm();
  Object.assign(process.env, {
    OTP_FIXED_CODE: code,
    REDIS_URL: server.url,
    FCM_URL: fcm.url,
    FCM_SERVICE_ACCOUNT: fcm.serviceAccount,
    ALLOW_PRIVATE_ADDRESSES: "1",
  });
  const { describeDashboard } = await import("./dashboard.js");
  afterAll(() => server.stop());
  describeDashboard({ broker: "Redis", code, fcm });
} else {
  describeWithRedis("the dashboard in a browser, with BullMQ on Redis", notLoaded);
}
