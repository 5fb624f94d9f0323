import { describeError } from "../lib/process/describe-error.js";
import { log } from "../lib/process/log.js";
import { openQueue, pingBroker } from "../queues/broker.js";
import type { Contract } from "../queues/contract.js";
import { sql } from "../sql/db.js";
import { retryJobs, releaseJobs, claimDueJobs, onJobsDue, type DueJob } from "../sql/outbox.js";

const BATCH = 500;
/** How often the outbox is looked at without a signal: this is how late a delayed job may be. */
const POLL_MS = 1_000;
const RECOVERY_MS = 500;

/** Hands staged jobs of these contracts over to BullMQ until it is stopped. It never fails: while Postgres or the broker is away it waits. */
export function startRelay(contracts: readonly Contract[]): { stop(): Promise<void> } {
  let stopping = false;
  let inTrouble = false;
  let signalled = false;
  let wakeUp = (): void => undefined;
  const unsubscribe = onJobsDue(() => {
    signalled = true;
    if (!inTrouble) wakeUp();
  });

  /** Hands over what there is; answers how many milliseconds the next turn can wait. */
  const turn = async (): Promise<number> => {
    signalled = false;
    try {
      // taking rows only to put them back would wear out the table for as long as the broker is away
      if (inTrouble) await pingBroker();
      const more = await relayBatch(contracts);
      if (inTrouble) log.info("the relay hands jobs over again");
      inTrouble = false;
      return more ? 0 : POLL_MS;
    } catch (error) {
      if (!inTrouble)
        log.warn({ error: describeError(error) }, "the relay cannot hand jobs over; they wait in Postgres");
      inTrouble = true;
      return RECOVERY_MS;
    }
  };
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
      // a signal that came during the turn may be about a row that the turn did not see
      if (stopping || (signalled && !inTrouble)) wakeUp();
    });
  const run = async (): Promise<void> => {
    while (!stopping) await pause(await turn());
  };
  const running = run();

  return {
    stop: async () => {
      stopping = true;
      unsubscribe();
      wakeUp();
      await running;
    },
  };
}

/** Hands over one batch and answers whether there may be more; throws, with the rows due again, when the broker did not take them. */
export async function relayBatch(contracts: readonly Contract[]): Promise<boolean> {
  const jobs = await claimDueJobs(
    sql,
    contracts.map(({ queue }) => queue),
    BATCH,
  );
  const handOvers = contracts.map(async (contract) => {
    const ofContract = jobs.filter(({ queue }) => queue === contract.queue);
    if (ofContract.length === 0) return;
    try {
      await handOver(contract, ofContract);
    } catch (error) {
      await releaseJobs(
        sql,
        ofContract.map(({ id }) => id),
      );
      throw error;
    }
  });
  for (const result of await Promise.allSettled(handOvers)) {
    if (result.status === "rejected") throw result.reason;
  }
  return jobs.length === BATCH;
}

/** The broker's id of a row's job: the same at every resend, so that BullMQ ignores what it already has. */
const brokerId = ({ id, generation }: DueJob): string => `${id}.${generation}`;

async function handOver(contract: Contract, jobs: readonly DueJob[]): Promise<void> {
  const queue = openQueue(contract);
  await queue.addBulk(jobs.map((job) => ({ name: contract.queue, data: job.payload, opts: { jobId: brokerId(job) } })));
  // A row that is still open after its hand-over may belong to a job that BullMQ has finished with, when the row
  // could not be settled. Under the same id it would be ignored for ever.
  const resent = jobs.filter(({ sends }) => sends > 1);
  const states = await Promise.all(resent.map((job) => queue.getJobState(brokerId(job))));
  const stuck = resent.filter((_, index) => states[index] === "completed" || states[index] === "failed");
  if (stuck.length > 0) await retryJobs(sql, stuck);
}
