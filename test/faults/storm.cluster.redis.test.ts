import { afterAll, describe } from "@jest/globals";
import { startRedisCluster } from "../support/redis-groups.js";
import { notLoaded, redisAvailable } from "../support/redis.js";

// redis-cluster.redis.test.ts has each fault of a cluster by itself, and the storm on one Redis the others
if (redisAvailable && process.env["TEST_STORM_SECONDS"] !== undefined) {
  const cluster = await startRedisCluster();
  process.env["REDIS_URL"] = cluster.url;
  const { testStorm } = await import("./storm.js");
  testStorm("Redis Cluster", cluster, false);
  afterAll(() => cluster.stop());
} else {
  describe.skip(
    "a storm of faults, with BullMQ on Redis Cluster (only in npm run faults, with redis-server)",
    notLoaded,
  );
}
