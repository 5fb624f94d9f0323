import { afterAll } from "@jest/globals";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";

if (redisAvailable) {
  const server = await startRedis();
  process.env["REDIS_URL"] = server.url;
  const { describeCrashes } = await import("./crash.js");
  describeCrashes("Redis");
  afterAll(() => server.stop());
} else {
  describeWithRedis("interrupted processes, with BullMQ on Redis", notLoaded);
}
