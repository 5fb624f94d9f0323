import { afterAll, expect, test } from "@jest/globals";
import { describeWithRedis, notLoaded, redisAvailable, startRedis } from "../support/redis.js";

const CALLS = 50;

if (redisAvailable) {
  const server = await startRedis();
  process.env["REDIS_URL"] = server.url;
  const { closeBroker, describeRedis, openQueue } = await import("../../queues/broker.js");
  const { push } = await import("../../queues/index.js");

  /** How often Redis has read from its connections. */
  const countReads = async (): Promise<number> => {
    const [facts] = await describeRedis();
    return Number(facts?.get("total_reads_processed"));
  };

  afterAll(async () => {
    await closeBroker();
    await server.stop();
  });

  test("calls that are made at once reach Redis in one packet", async () => {
    const queue = openQueue(push);
    await queue.waitUntilReady();
    const before = await countReads();
    await Promise.all(Array.from({ length: CALLS }, (_, n) => queue.getJob(`${n}.0`)));
    expect((await countReads()) - before).toBeLessThan(CALLS / 5);
  });
} else {
  describeWithRedis("calls that are made at once", notLoaded);
}
