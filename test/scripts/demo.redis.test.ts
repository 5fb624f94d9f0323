import { afterAll, beforeAll } from "@jest/globals";
import { postgresContents, redisContents } from "../support/broker-contents.js";
import { describeWithRedis, startRedis, type TestRedis } from "../support/redis.js";
import { aDayThatLeavesNoTrace, databaseUrl } from "./demo.js";

describeWithRedis("with BullMQ in Redis", () => {
  let redis: TestRedis;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(() => redis.stop());

  aDayThatLeavesNoTrace(
    () => ({ REDIS_URL: redis.url }),
    async () => (await redisContents(redis.url)) + (await postgresContents(databaseUrl)),
  );
});
