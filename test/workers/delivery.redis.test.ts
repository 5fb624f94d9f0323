import { afterAll } from "@jest/globals";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";

if (redisAvailable) {
  const server = await startRedis();
  process.env["REDIS_URL"] = server.url;
  const { describeDelivery } = await import("./delivery.js");
  afterAll(() => server.stop());
  describeDelivery("Redis");
} else {
  describeWithRedis("delivery through BullMQ on Redis", notLoaded);
}
