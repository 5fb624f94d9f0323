import { afterAll } from "@jest/globals";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";

if (redisAvailable) {
  const server = await startRedis();
  process.env["REDIS_URL"] = server.url;
  const { describeQueueSettings } = await import("./queue-settings.js");
  afterAll(() => server.stop());
  describeQueueSettings("Redis");
} else {
  describeWithRedis("a queue of BullMQ on Redis", notLoaded);
}
