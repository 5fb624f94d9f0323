import { describeError } from "../lib/process/describe-error.js";
import { Flag } from "../lib/process/flag.js";
import { log } from "../lib/process/log.js";
import { inEachTrace } from "../lib/process/traces.js";
import { openQueue, pingBroker, whileBrokerAnswers } from "../queues/broker.js";
import type { Contract } from "../queues/contract.js";
import { sql } from "../sql/db.js";
import { retryJobs, releaseJobs, claimDueJobs, onJobsDue, type DueJob } from "../sql/outbox.js";

const BATCH = 500;
/** How often the outbox is polled without a signal: a delayed job may be this late. */
const POLL_MS = 1_000;
const RECOVERY_MS = 500;

/** Hands staged jobs of these contracts over to BullMQ until it is stopped. It never fails: while Postgres or the broker is down it waits. */
export function startRelay(contracts: readonly Contract[]): { stop(): Promise<void> } {
  const due = new Flag();
  let stopping = false;
  let failing = false;
  const unsubscribe = onJobsDue(() => {
    if (!failing) due.set();
  });

  /** Hands over a batch; returns how many milliseconds the next one can wait. */
  const relayOnce = async (): Promise<number> => {
    try {
      // claiming rows only to release them would bloat the table while the broker is down, or the node of a queue
      const served = failing ? await listAnswering(contracts) : contracts;
      const more = await relayBatch(served);
      if (served.length < contracts.length) return RECOVERY_MS;
      if (failing) log.info("the relay hands jobs over again");
      failing = false;
      return more ? 0 : POLL_MS;
    } catch (error) {
      if (!failing) log.warn({ error: describeError(error) }, "the relay cannot hand jobs over; they wait in Postgres");
      failing = true;
      return RECOVERY_MS;
    }
  };
  const run = async (): Promise<void> => {
    // a signal during a batch may be about a row that the batch did not see: then the next batch does not wait
    while (!stopping) await due.wait(await relayOnce());
  };
  const running = run();

  return {
    stop: async () => {
      stopping = true;
      unsubscribe();
      due.set();
      await whileBrokerAnswers(running);
    },
  };
}

/** Returns those of the contracts for whose queues the broker answers. */
async function listAnswering(contracts: readonly Contract[]): Promise<Contract[]> {
  const answers = await Promise.allSettled(contracts.map((contract) => pingBroker([contract])));
  return contracts.filter((_, index) => answers[index]?.status === "fulfilled");
}

/** Hands over one batch and returns whether there may be more; throws, with the rows released, when the broker did not accept them. */
export async function relayBatch(contracts: readonly Contract[]): Promise<boolean> {
  const jobs = await claimDueJobs(
    sql,
    contracts.map(({ queue }) => queue),
    BATCH,
  );
  const handOvers = contracts.map(async (contract) => {
    const ofContract = jobs.filter(({ queue, held }) => queue === contract.queue && !held);
    if (ofContract.length === 0) return;
    try {
      const traces = ofContract.map(({ traceparent }) => traceparent);
      await inEachTrace(`relay ${contract.queue}`, { kind: "producer" }, traces, () => handOver(contract, ofContract));
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

/** Returns BullMQ's id for a job: the same at every resend, so that BullMQ ignores what it already has. */
const brokerId = ({ id, generation }: DueJob): string => `${id}.${generation}`;

async function handOver(contract: Contract, jobs: readonly DueJob[]): Promise<void> {
  const queue = openQueue(contract);
  await queue.addBulk(
    jobs.map((job) => ({
      name: contract.queue,
      data: job.payload,
      opts: { jobId: brokerId(job), priority: job.priority },
    })),
  );
  // A resent row may belong to a job that BullMQ has finished, when the row could not be updated. Under the same id BullMQ
  // would ignore it for ever.
  const resent = jobs.filter(({ sends }) => sends > 1);
  // not its state, for which Redis reads the list of those that wait: with a hundred thousand it did little else
  const found = await Promise.all(resent.map((job) => queue.getJob(brokerId(job))));
  const stuck = resent.filter((_, index) => found[index]?.finishedOn !== undefined);
  if (stuck.length > 0) await retryJobs(sql, stuck);
}
