import { afterAll, afterEach, beforeEach } from "@jest/globals";
import { Redis } from "ioredis";
import { openQueue, openQueues } from "../../queues/broker.js";
import { sql } from "../../sql/db.js";
import { consume, type Consumer, type Handler } from "../../workers/consume.js";
import { startRelay } from "../../workers/relay.js";
import { disconnect } from "./queue-worker.js";
import { trial } from "./trial.js";

// The set-up of tests of jobs on their whole way, on the broker that the test file has configured: the queue `trial`, as it is when
// no one has set anything, and a relay. No test sees another's jobs.

export type Run = (...args: Parameters<Handler<{ n: number }>>) => void | Promise<void>;

export let relay: { stop(): Promise<void> };
const consumers: Consumer[] = [];

/** Runs the queue's jobs, until the test ends at the latest. */
export function serve(run: Run, concurrency = 5): Consumer {
  const consumer = consume(trial, async (task) => run(task), { concurrency, signal: new AbortController().signal });
  consumers.push(consumer);
  return consumer;
}

/** Deletes all that the broker has of the queue. */
export async function emptyQueue(): Promise<void> {
  await openQueue(trial).obliterate({ force: true });
  await openQueue(trial).resume();
}

/** Makes the broker lose everything. */
export async function wipeBroker(): Promise<void> {
  const url = process.env["REDIS_URL"];
  if (url === undefined) {
    for (const queue of [...openQueues(), openQueue(trial)]) await queue.obliterate({ force: true });
    return;
  }
  const client = new Redis(url);
  await client.flushall();
  client.disconnect();
}

beforeEach(async () => {
  await emptyQueue();
  relay = startRelay([trial]);
});

afterEach(async () => {
  await Promise.all([relay.stop(), ...consumers.splice(0).map((consumer) => consumer.close())]);
  await sql`truncate staged_jobs, queue_settings`;
});

afterAll(disconnect);
