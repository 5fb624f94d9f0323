import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { contract } from "../../../queues/contract.js";
import { openQueue, openWorker, prepareBroker } from "../../../queues/broker.js";
import { sql } from "../../../sql/db.js";
import { stageJob } from "../../../sql/outbox.js";
import { consume } from "../../../workers/consume.js";
import { startRelay } from "../../../workers/relay.js";
import { PickUpPlan, type Latencies } from "../messages.js";
import { answerParent } from "./answer.js";

// One job at a time on an idle system: from its commit to its start in a worker; or, with BullMQ alone, from adding it to
// its completion.

const terms = { payload: z.object({ n: z.string() }), attempts: 3, backoffMs: 1_000 };
const staged = contract({ queue: "bench-staged", ...terms });
const bare = contract({ queue: "bench-bare", ...terms });

await prepareBroker();
let arrived: (at: number) => void = () => undefined;
const arrival = () => new Promise<number>((resolve) => (arrived = resolve));

const handler = () => {
  arrived(performance.now());
  return Promise.resolve();
};
const { signal } = new AbortController();
const comparison = await openWorker(bare, () => Promise.resolve(), { concurrency: 10, signal });
comparison.on("completed", () => arrived(performance.now()));
await consume(staged, handler, { concurrency: 10, signal }).worker;
startRelay([staged]);
await Promise.all([openQueue(staged), openQueue(bare)].map((each) => each.waitUntilReady()));

async function stagedLatency(): Promise<number> {
  const started = arrival();
  await stageJob(sql, staged, { n: randomUUID() });
  const committed = performance.now();
  return (await started) - committed;
}

async function bareLatency(): Promise<number> {
  const completed = arrival();
  const added = performance.now();
  await openQueue(bare).add(bare.queue, { n: randomUUID() });
  return (await completed) - added;
}

answerParent(PickUpPlan, async ({ samples }) => {
  const latencies: Latencies = { staged: [], bare: [] };
  for (let n = 0; n < samples; n += 1) {
    // lets the last job's clean-up end; random, so that it is never in step with a poll
    await delay(randomInt(10, 30));
    latencies.staged.push(await stagedLatency());
    await delay(randomInt(10, 30));
    latencies.bare.push(await bareLatency());
  }
  return latencies;
});
