import { log } from "../lib/process/log.js";
import { openQueue } from "../queues/broker.js";
import type { Contract } from "../queues/contract.js";
import { contracts } from "../queues/index.js";
import { sql } from "../sql/db.js";
import { releaseHeldJobs } from "../sql/outbox.js";
import { listQueueSettings, type QueueSetting } from "../sql/queries/queue-settings.js";
import type { Consumer } from "./consume.js";
import { resizeSlots } from "./slots.js";

/** A queue that this process serves. */
export interface Served {
  readonly contract: Contract;
  readonly consumer: Pick<Consumer, "resize">;
}

/**
 * Does what operators have set, for all queues that are known: gives those that this process serves their slots, pauses queues in the
 * broker or resumes them, and limits their rate there. A broker that was wiped has forgotten it, so this is repeated.
 */
export async function applySettings(served: readonly Served[], known: readonly Contract[] = contracts): Promise<void> {
  const settings = await listQueueSettings(sql);
  for (const { queue, concurrency } of settings) {
    const own = served.find(({ contract }) => contract.queue === queue);
    own?.consumer.resize(resizeSlots(own.contract, concurrency));
  }
  // a node of a cluster that does not answer keeps nothing from the queues of the others
  const applied = settings.map(async (setting) => {
    const contract = known.find(({ queue }) => queue === setting.queue);
    if (!contract) return;
    await applyPause(contract, setting);
    await applyRate(contract, setting);
  });
  for (const result of await Promise.allSettled(applied)) {
    if (result.status === "rejected") throw result.reason;
  }
}

const SECONDS = 60;

/** Workers together take no more jobs of a queue than the broker allows: an even share of the minute at a time, of a second at most. */
async function applyRate(contract: Contract, { queue: name, perMinute }: QueueSetting): Promise<void> {
  const queue = openQueue(contract);
  const current = await queue.getGlobalRateLimit();
  if (perMinute === null) {
    if (!current) return;
    await queue.removeGlobalRateLimit();
  } else {
    const max = Math.max(1, Math.floor(perMinute / SECONDS));
    const duration = Math.round((SECONDS * 1_000 * max) / perMinute);
    if (current?.max === max && current.duration === duration) return;
    await queue.setGlobalRateLimit(max, duration);
  }
  log.info({ queue: name, perMinute }, "the queue's rate is changed");
}

/** Workers take no job of a queue that is paused in the broker. */
async function applyPause(contract: Contract, { queue: name, pausedAt }: QueueSetting): Promise<void> {
  const queue = openQueue(contract);
  const paused = pausedAt !== null;
  if ((await queue.isPaused()) === paused) return;
  if (paused) {
    await queue.pause();
  } else {
    // those that a relay was claiming when the pause ended were held back still; first, so that a failure is made up for next time
    await releaseHeldJobs(sql, name);
    await queue.resume();
  }
  log.info({ queue: name }, paused ? "the queue is paused" : "the queue is resumed");
}
