import { withTimeout } from "../../../lib/process/with-timeout.js";
import type { Contract } from "../../../queues/contract.js";
import { dataExport, menuImport, posSync, rollups, upkeep } from "../../../queues/index.js";
import { JobProgress } from "../../../queues/progress.js";
import { loadBroker } from "../broker.js";

/** The page does not wait longer for the broker. */
const BROKER_LIMIT_MS = 1_000;
const MOST_OF_A_QUEUE = 20;

/** The queues whose jobs say how far they are. */
const longQueues: readonly Contract[] = [dataExport, menuImport, posSync, rollups, upkeep];

/** A job that has run for longer than a second, as its worker reported it. */
export interface RunningJob {
  /** Its queue, and the task of upkeep. */
  name: string;
  /** The number of its row; null for a tick of a schedule. */
  number: number | null;
  done: number;
  total: number | null;
  startedAt: Date | null;
  estimatedEndAt: Date | null;
}

async function readRunningJobs(): Promise<RunningJob[]> {
  const { openQueue, pingBroker } = await loadBroker();
  // a queue that never connected would wait until it does
  await pingBroker(longQueues);
  const lists = await Promise.all(
    longQueues.map(async (contract) => {
      const jobs = await openQueue(contract).getActive(0, MOST_OF_A_QUEUE - 1);
      return jobs.map((job) => ({ queue: contract.queue, job }));
    }),
  );
  return lists.flat().flatMap(({ queue, job }) => {
    const progress = JobProgress.safeParse(job.progress).data;
    if (!progress) return [];
    const { done, total = null, endsAt = 0 } = progress;
    const { task } = job.data;
    const [, number = null] = /^(\d+)\.\d+$/.exec(job.id ?? "") ?? [];
    const startedAt = job.processedOn === undefined ? null : new Date(job.processedOn);
    return {
      name: typeof task === "string" ? `${queue}: ${task}` : queue,
      number: number === null ? null : Number(number),
      done,
      total,
      startedAt,
      // one that has passed says nothing: the run is slower now, or a later one has not reported yet
      estimatedEndAt: endsAt > Date.now() ? new Date(endsAt) : null,
    };
  });
}

/** Lists the jobs that run for long, with how far they are; null when the broker does not answer. */
export const listRunningJobs = (): Promise<RunningJob[] | null> =>
  withTimeout(BROKER_LIMIT_MS, readRunningJobs()).catch(() => null);
