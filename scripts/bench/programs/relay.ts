import { randomUUID } from "node:crypto";
import { openQueue, prepareBroker } from "../../../queues/broker.js";
import { fanOut } from "../../../queues/index.js";
import { sql } from "../../../sql/db.js";
import { stageJobs } from "../../../sql/outbox.js";
import { relayDue } from "../../../workers/relay.js";
import { HandOverPlan } from "../messages.js";
import { answerParent } from "./answer.js";

// Hands jobs over to BullMQ: staged ones through the relay, or others of the same size directly through addBulk.

const BATCH = 500;

const newJobs = (count: number) =>
  Array.from({ length: count }, () => ({
    event: "ORDER_PLACED" as const,
    subjectId: randomUUID(),
    after: null,
  }));

/** Prepares a measurement; what it returns hands over all batches. */
async function prepare({ how, batches }: HandOverPlan): Promise<() => Promise<void>> {
  if (how === "relay") {
    await stageJobs(
      sql,
      fanOut,
      newJobs(batches * BATCH).map((payload) => ({ payload })),
    );
    let left = batches;
    // on a slow machine its first jobs are due again before the last ones are handed over
    return () => relayDue([fanOut], () => (left -= 1) === 0);
  }
  const queue = openQueue(fanOut);
  let id = Date.now();
  const addBatch = () =>
    queue.addBulk(newJobs(BATCH).map((data) => ({ name: fanOut.queue, data, opts: { jobId: `${(id += 1)}.0` } })));
  return async () => {
    for (let batch = 0; batch < batches; batch += 1) await addBatch();
  };
}

await prepareBroker();
await openQueue(fanOut).waitUntilReady();

answerParent(HandOverPlan, async (question) => {
  await sql`truncate staged_jobs`;
  const handOver = await prepare(question);
  const start = performance.now();
  await handOver();
  const seconds = (performance.now() - start) / 1_000;
  await openQueue(fanOut).obliterate({ force: true });
  return { perSecond: (question.batches * BATCH) / seconds };
});
