import { describeError } from "../lib/process/describe-error.js";
import { Flag } from "../lib/process/flag.js";
import { log } from "../lib/process/log.js";
import { inEachTrace } from "../lib/process/traces.js";
import { openQueue, pingBroker, whileBrokerAnswers } from "../queues/broker.js";
import type { Contract } from "../queues/contract.js";
import { sql } from "../sql/db.js";
import { renewJobs, releaseJobs, claimDueJobs, onJobsDue, type DueJob } from "../sql/outbox.js";

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

  /** Hands over what is due; returns how many milliseconds the next claim can wait. */
  const relayOnce = async (): Promise<number> => {
    try {
      // claiming rows only to release them would bloat the table while the broker is down, or the node of a queue
      const served = failing ? await listAnswering(contracts) : contracts;
      await relayDue(served, () => stopping);
      if (served.length < contracts.length) return RECOVERY_MS;
      if (failing) log.info("the relay hands jobs over again");
      failing = false;
      return POLL_MS;
    } catch (error) {
      if (!failing) log.warn({ error: describeError(error) }, "the relay cannot hand jobs over; they wait in Postgres");
      failing = true;
      return RECOVERY_MS;
    }
  };
  const run = async (): Promise<void> => {
    // a signal during a claim may be about a row that the claim did not see: then the next claim does not wait
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

/**
 * Hands over the jobs that are due, batch after batch; throws, with the rows released, when the broker did not accept them. While
 * the broker takes a batch, Postgres claims the next one, and no further one: what a process has claimed waits 10 s when it ends.
 */
export async function relayDue(contracts: readonly Contract[], isStopping: () => boolean): Promise<void> {
  const queues = contracts.map(({ queue }) => queue);
  const claim = () => claimDueJobs(sql, queues, BATCH);
  let jobs: readonly DueJob[] = await claim();
  for (let more = true; more;) {
    more = jobs.length === BATCH && !isStopping();
    const [next, handedOver] = await Promise.allSettled([more ? claim() : [], relayBatch(contracts, jobs)]);
    if (handedOver.status === "rejected") {
      if (next.status === "fulfilled") await releaseJobs(sql, next.value);
      throw handedOver.reason;
    }
    if (next.status === "rejected") throw next.reason;
    jobs = next.value;
  }
}

/** Hands over claimed jobs, those of each queue together; throws when a queue did not accept its jobs, with their rows released. */
async function relayBatch(contracts: readonly Contract[], jobs: readonly DueJob[]): Promise<void> {
  const handOvers = contracts.map(async (contract) => {
    const ofContract = jobs.filter(({ queue, held }) => queue === contract.queue && !held);
    if (ofContract.length === 0) return;
    try {
      const traces = ofContract.map(({ traceparent }) => traceparent);
      await inEachTrace(`relay ${contract.queue}`, { kind: "producer" }, traces, () => handOver(contract, ofContract));
    } catch (error) {
      await releaseJobs(sql, ofContract);
      throw error;
    }
  });
  for (const result of await Promise.allSettled(handOvers)) {
    if (result.status === "rejected") throw result.reason;
  }
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
  if (stuck.length > 0) await renewJobs(sql, stuck);
}
