import { randomUUID } from "node:crypto";
import { z } from "zod";
import { openQueue, openWorker, prepareBroker, type BrokerWorker } from "../../../queues/broker.js";
import { contract } from "../../../queues/contract.js";
import { push } from "../../../queues/index.js";
import { sql } from "../../../sql/db.js";
import { stageJobs } from "../../../sql/outbox.js";
import { consume } from "../../../workers/consume.js";
import { deliverPush } from "../../../workers/push.js";
import { startRelay } from "../../../workers/relay.js";
import { PassPlan } from "../messages.js";
import { answerParent } from "./answer.js";

// Processes notifications from their staged jobs through relay, BullMQ and worker to their final status, with the log in
// place of a push service; or passes as many jobs through BullMQ alone, to a worker that does nothing.

const BATCH = 500;

const bare = contract({
  queue: "bench-bare",
  payload: z.object({ n: z.string() }),
  attempts: push.attempts,
  backoffMs: push.backoffMs,
  concurrency: push.concurrency,
});

await prepareBroker();
const { concurrency } = push;
const { signal } = new AbortController();
const workers = {
  service: await consume(push, deliverPush, { concurrency, signal }).worker,
  bare: await openWorker(bare, () => Promise.resolve(), { concurrency, signal }),
};
startRelay([push]);
await Promise.all([openQueue(push), openQueue(bare)].map((queue) => queue.waitUntilReady()));

/** Resolves when `count` more jobs are completed. */
const completions = (worker: BrokerWorker, count: number) =>
  new Promise<void>((resolve) => {
    let left = count;
    const onCompleted = () => {
      left -= 1;
      if (left > 0) return;
      worker.off("completed", onCompleted);
      resolve();
    };
    worker.on("completed", onCompleted);
  });

/** Inserts users with one device and one notification each; returns the notifications' ids. */
async function insertNotifications(count: number): Promise<string[]> {
  const users = await sql<{ id: string }[]>`
    insert into users (service_id, phone)
    select 'SF-' || id, id from (select gen_random_uuid()::text as id from generate_series(1, ${count}::integer)) as ids
    returning id`;
  const ids = users.map(({ id }) => id);
  await sql`
    insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
    select id, true, true, true, false, '00:00', '00:00' from unnest(${ids}::uuid[]) as id`;
  await sql`
    insert into devices (user_id, platform, address, address_digest, locale)
    select id, 'android', 'bench:' || id, sha256(convert_to('bench:' || id, 'UTF8')), 'ru-RU'
    from unnest(${ids}::uuid[]) as id`;
  const notifications = await sql<{ id: string }[]>`
    insert into notifications (user_id, kind, partner_id)
    select id, 'ORDER_READY', (select id from partners limit 1) from unnest(${ids}::uuid[]) as id
    returning id`;
  // a plan that was made while the tables were almost empty would be kept
  await sql`analyze notifications, notification_deliveries, devices`;
  return notifications.map(({ id }) => id);
}

async function passThroughService(count: number): Promise<number> {
  await sql`truncate staged_jobs`;
  const ids = await insertNotifications(count);
  const all = completions(workers.service, count);
  const start = performance.now();
  for (let from = 0; from < count; from += BATCH) {
    await stageJobs(
      sql,
      push,
      ids.slice(from, from + BATCH).map((notificationId) => ({ payload: { notificationId } })),
    );
  }
  await all;
  const ms = performance.now() - start;
  const sent = await sql`select from notifications where id = any (${ids}::uuid[]) and status = 'SENT'`;
  if (sent.count !== count) throw new Error(`${sent.count} of ${count} notifications were sent`);
  return ms;
}

async function passThroughBullmq(count: number): Promise<number> {
  const queue = openQueue(bare);
  const all = completions(workers.bare, count);
  const start = performance.now();
  for (let from = 0; from < count; from += BATCH) {
    const jobs = Array.from({ length: Math.min(BATCH, count - from) }, () => ({ n: randomUUID() }));
    await queue.addBulk(jobs.map((data) => ({ name: bare.queue, data })));
  }
  await all;
  return performance.now() - start;
}

answerParent(PassPlan, async ({ how, jobs }) => {
  const ms = await (how === "service" ? passThroughService(jobs) : passThroughBullmq(jobs));
  return { perSecond: (jobs * 1_000) / ms };
});
