import { afterAll } from "@jest/globals";
import { pgbouncerAvailable } from "../support/pgbouncer.js";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";

if (redisAvailable) {
  const server = await startRedis();
  process.env["REDIS_URL"] = server.url;
  const { testStorm } = await import("./storm.js");
  // the other storm connects to Postgres itself
  testStorm("Redis", server, pgbouncerAvailable);
  afterAll(() => server.stop());
} else {
  describeWithRedis("a storm of faults, with BullMQ on Redis", notLoaded);
}
