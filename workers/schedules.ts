import type { JobSchedulerJson } from "bullmq";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { Flag } from "../lib/process/flag.js";
import { log } from "../lib/process/log.js";
import { listLostQueues, openQueue, rememberQueues, whileBrokerAnswers, type BrokerQueue } from "../queues/broker.js";
import type { Contract, Payload } from "../queues/contract.js";
import { contracts, rollups, upkeep } from "../queues/index.js";
import { sql } from "../sql/db.js";
import { resendJobs } from "../sql/outbox.js";
import { queueSettingsChanged } from "../sql/queries/queue-settings.js";
import { onLedSignal } from "../sql/signals.js";
import { applySettings, type Served } from "./queue-settings.js";
import { tasks, type Rhythm } from "./upkeep.js";

interface Schedule {
  readonly id: string;
  readonly contract: Contract;
  readonly payload: Payload;
  readonly rhythm: Rhythm;
}

/** Every schedule. */
const schedules: readonly Schedule[] = [
  ...Object.entries(tasks).map(([task, { rhythm }]) => ({ id: task, contract: upkeep, payload: { task }, rhythm })),
  { id: "rollups-nightly", contract: rollups, payload: { days: "LATEST" }, rhythm: { pattern: "15 3 * * *" } },
  { id: "rollups-due", contract: rollups, payload: { days: "DUE" }, rhythm: { pattern: "*/10 * * * *" } },
];

const CHECK_MS = 5_000;
/** A tick whose job is missing this long after its time will never come. */
const LOST_AFTER_MS = 10_000;

/**
 * Keeps the queues as operators have set them and the broker's schedules equal to this list, until it is stopped: both are back
 * within seconds after the broker was wiped. After a change of the settings the process that leads follows at once, and pauses the
 * queue in the broker, for all; how many jobs the others run at once changes within seconds.
 */
export function startSchedules(served: readonly Served[]): { stop(): Promise<void> } {
  let stopping = false;
  const due = new Flag();
  const unsubscribe = onLedSignal(queueSettingsChanged, due.set);
  const run = async (): Promise<void> => {
    let failing = false;
    while (!stopping) {
      try {
        // first, so that a paused queue gets no tick in between
        await applySettings(served);
        await checkSchedules();
        failing = false;
      } catch (error) {
        if (!failing) log.warn({ error: describeError(error) }, "schedules cannot be checked");
        failing = true;
      }
      await due.wait(CHECK_MS);
    }
  };
  const running = run();
  return {
    stop: () => {
      stopping = true;
      unsubscribe();
      due.set();
      return whileBrokerAnswers(running);
    },
  };
}

/**
 * 1. Reads what the broker has.
 * 2. If it has none of these schedules, it is new or was wiped: every job that it should have becomes due again. A node of a
 *    cluster may have lost only the jobs of its own queues.
 * 3. Adds what is missing, different or stuck, and removes what is no longer in the list.
 */
export async function checkSchedules(): Promise<void> {
  const present = new Map<BrokerQueue, JobSchedulerJson<Payload>[]>();
  for (const contract of contracts) {
    const queue = openQueue(contract);
    present.set(queue, await queue.getJobSchedulers());
  }

  const known = new Set(schedules.map(({ id }) => id));
  const found = [...present.values()].flat();
  const isWiped = !found.some(({ key }) => known.has(key));
  const lost = isWiped ? contracts.map(({ queue }) => queue) : await listLostQueues();
  if (lost.length > 0) {
    const count = await resendJobs(sql, lost);
    if (count > 0) log.warn({ count, queues: lost }, "the broker had lost its jobs; they are handed over again");
    await rememberQueues(lost);
  }

  for (const [queue, existing] of present) {
    const wanted = schedules.filter(({ contract }) => contract.queue === queue.name);
    for (const schedule of wanted) {
      const current = existing.find(({ key }) => key === schedule.id);
      if (!current || differs(schedule, current) || (await isLost(queue, current))) {
        const repeat = { ...schedule.rhythm, tz: config.DEFAULT_TIMEZONE };
        await queue.upsertJobScheduler(schedule.id, repeat, { name: schedule.id, data: schedule.payload });
      }
    }
    for (const { key } of existing) {
      if (!wanted.some(({ id }) => id === key)) await queue.removeJobScheduler(key);
    }
  }
}

function differs({ rhythm, payload }: Schedule, current: JobSchedulerJson<Payload>): boolean {
  const same =
    ("every" in rhythm ? current.every === rhythm.every : current.pattern === rhythm.pattern) &&
    current.tz === config.DEFAULT_TIMEZONE &&
    JSON.stringify(current.template?.data) === JSON.stringify(payload);
  return !same;
}

/** Whether the job of the next tick is gone, removed by hand for example: the schedule would never tick again. */
async function isLost(queue: BrokerQueue, { key, next }: JobSchedulerJson<Payload>): Promise<boolean> {
  if (next === undefined || next > Date.now() - LOST_AFTER_MS) return false;
  return (await queue.getJob(`repeat:${key}:${next}`)) === undefined;
}
