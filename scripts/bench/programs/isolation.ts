import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { prepareBroker } from "../../../queues/broker.js";
import { push } from "../../../queues/index.js";
import { sql } from "../../../sql/db.js";
import { stageJob, stageJobs } from "../../../sql/outbox.js";
import { consume } from "../../../workers/consume.js";
import { deliverPush } from "../../../workers/push.js";
import { startRelay } from "../../../workers/relay.js";
import { IsolationPlan, type Durations } from "../messages.js";
import { answerParent } from "./answer.js";
import { insertRecipients } from "./recipients.js";

// Delivers single messages, from the commit to the stored result, while others wait for push services that never answer.

await prepareBroker();
let delivered: (notificationId: string) => void = () => undefined;
const { concurrency } = push;
await consume(
  push,
  async (task) => {
    await deliverPush(task);
    delivered(task.payload.notificationId);
  },
  { concurrency, signal: new AbortController().signal },
).worker;
startRelay([push]);

/** Starts a push service at an origin of its own that never answers; returns its address. */
async function startSilentService(): Promise<string> {
  const server = createServer((socket) => void socket.on("error", () => undefined).resume()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a silent push service does not listen");
  return `http://127.0.0.1:${address.port}`;
}

async function deliver(service: string): Promise<number> {
  const [notificationId] = await insertRecipients([service]);
  if (notificationId === undefined) throw new Error("no notification was inserted");
  const done = new Promise<number>((resolve) => {
    delivered = (id) => {
      if (id === notificationId) resolve(performance.now());
    };
  });
  await stageJob(sql, push, { notificationId });
  const committed = performance.now();
  return (await done) - committed;
}

answerParent(IsolationPlan, async ({ services, silentServices, silentMessages, samples }) => {
  const silent = await Promise.all(Array.from({ length: silentServices }, startSilentService));
  // the services have answered before
  for (const service of services) await deliver(service);
  const hanging = await insertRecipients(silent, silentMessages / Math.max(silentServices, 1));
  await stageJobs(
    sql,
    push,
    hanging.map((notificationId) => ({ payload: { notificationId } })),
  );
  // a burst delays the first message behind it, whether or not its push services answer: its jobs all start once
  for (const service of services) await deliver(service);
  const latencies: Durations["latencies"] = services.map(() => []);
  for (let n = 0; n < samples; n += 1) {
    for (const [index, service] of services.entries()) {
      await delay(randomInt(20, 50));
      latencies[index]?.push(await deliver(service));
    }
  }
  return { latencies };
});
