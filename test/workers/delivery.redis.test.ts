import { afterAll } from "@jest/globals";
import { Redis } from "ioredis";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";

if (redisAvailable) {
  const server = await startRedis();
  process.env["REDIS_URL"] = server.url;
  const { describeDelivery } = await import("./delivery.js");
  afterAll(() => server.stop());
  describeDelivery("Redis", async () => {
    const client = new Redis(server.url);
    await client.flushall();
    client.disconnect();
  });
} else {
  describeWithRedis("delivery through BullMQ on Redis", notLoaded);
}
