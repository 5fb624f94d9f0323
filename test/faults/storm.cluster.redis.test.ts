import { afterAll } from "@jest/globals";
import { startRedisCluster } from "../support/redis-groups.js";
import { describeWithRedis, notLoaded, redisAvailable } from "../support/redis.js";

if (redisAvailable) {
  const cluster = await startRedisCluster();
  process.env["REDIS_URL"] = cluster.url;
  const { testStorm } = await import("./storm.js");
  testStorm("Redis Cluster", cluster, false);
  afterAll(() => cluster.stop());
} else {
  describeWithRedis("a storm of faults, with BullMQ on Redis Cluster", notLoaded);
}
