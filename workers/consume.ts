import { UnrecoverableError } from "bullmq";
import { describeError, describeErrorWithStack } from "../lib/process/describe-error.js";
import { PermanentError, Snooze } from "../lib/process/errors.js";
import { inBatches } from "../sql/in-batches.js";
import type { ReportProgress } from "../lib/domain/progress.js";
import { keptLog, log, logsSuccess, type Logger } from "../lib/process/log.js";
import { startSpan, within, withTrace, type Span } from "../lib/process/traces.js";
import { openWorker, whileBrokerAnswers, type BrokerJob, type BrokerWorker } from "../queues/broker.js";
import type { Contract, Payload } from "../queues/contract.js";
import { batches, contended, hadNoConnection, isPassing, sql, type Db } from "../sql/db.js";
import * as staged from "../sql/outbox.js";
import { observeJob, type Outcome } from "./metrics.js";
import { JobDisplay } from "./progress.js";

/** What a handler gets. A handler may run twice for one job, even concurrently: its effect must be conditional. */
export interface Task<P extends Payload> {
  readonly payload: P;
  /** Logs with the queue, the job and the request that caused it. The dashboard shows the lines of a run that takes long or fails. */
  readonly log: Logger;
  /** Shows how far the run is, once it takes longer than a second. */
  readonly progress: ReportProgress;
  /** The request that caused the job, with the job's trace (`withTrace`); jobs staged by this one inherit it. */
  readonly requestId: string | undefined;
  /** 1 at the first attempt. */
  readonly attempt: number;
  /** Aborted when the process is about to stop: a long handler saves its progress and throws `Snooze(new Date())`. */
  readonly signal: AbortSignal;
  /**
   * Completes the job in the transaction of its effect: both commit, or neither. Throws, and so rolls the transaction back,
   * when another run has completed the job.
   */
  readonly done: (tx: Db) => Promise<void>;
  /** For a statement that completes the job together with its effect: the job, and what to call when it has. A tick has none. */
  readonly job?: { readonly run: staged.JobRun; readonly completed: () => void };
}

/** Runs one job. Throws `PermanentError` to give it up, `Snooze` to run it later; any other error is retried. */
export type Handler<P extends Payload> = (task: Task<P>) => Promise<void>;

/**
 * How many times its attempts a job may be started. A kill or an outage that cuts attempts short says little about the job; but one
 * that ends its workers must not run for ever.
 */
const MOST_STARTS = 3;

interface Ending {
  readonly outcome: Outcome;
  /** The request that caused the job. */
  readonly requestId?: string | undefined;
  readonly error?: unknown;
  readonly span?: Span | undefined;
}

// a job may have two runs at once: a superseded one and the present one, or one that the broker took for lost and its repetition
const apart = { keyOf: ({ id }: staged.JobRun) => id };
// of all queues together
const startJob = inBatches((runs: readonly staged.JobRun[]) => staged.startJobs(batches, runs, contended), apart);
const completeJob = inBatches((runs: readonly staged.JobRun[]) => staged.completeJobs(batches, runs, contended), apart);

type CompleteJob = (run: staged.JobRun) => Promise<boolean>;
const completions = new WeakMap<Db, CompleteJob>();

/** Returns what completes jobs in a transaction: those that share it are completed in one statement. */
function completeJobIn(tx: Db): CompleteJob {
  const known = completions.get(tx);
  if (known) return known;
  const complete = inBatches((runs: readonly staged.JobRun[]) => staged.completeJobs(tx, runs, tx), apart);
  completions.set(tx, complete);
  return complete;
}

/** Thrown by `done` when another run has completed the job. */
class AlreadyDone extends Error {
  override name = "AlreadyDone";
}

/** Runs a queue's jobs. */
export interface Consumer {
  /** BullMQ's worker, once the broker can be reached. */
  readonly worker: Promise<BrokerWorker>;
  /** Runs so many jobs at once from now on; of those that run none is cut short. */
  resize(slots: number): void;
  /** Takes no more jobs, and resolves when the running ones have ended. */
  close(): Promise<void>;
}

/** Runs a queue's jobs through their handler until it is closed. */
export function consume<P extends Payload>(
  contract: Contract<P>,
  handler: Handler<P>,
  { concurrency, signal }: { concurrency: number; signal: AbortSignal },
): Consumer {
  const parse = (payload: unknown): P => {
    const parsed = contract.payload.safeParse(payload);
    if (parsed.success) return parsed.data;
    const fields = parsed.error.issues.map((issue) => issue.path.join(".") || "payload");
    throw new PermanentError(`the payload breaks the contract at ${fields.join(", ")}`);
  };

  /** Jobs that were refused together come back one after the other. */
  const pauseMs = (): number => (contract.backoffMs * (1 + Math.random())) / 2;

  /** When a job that has no other attempts left is tried again after an outage. */
  const afterOutage = () => new Date(Date.now() + contract.attempts * pauseMs());

  /** Runs a job that has a row: counts the start, runs the handler, updates the row before BullMQ gets the outcome. */
  const runStaged = async (job: BrokerJob, id: string, generation: number, display: JobDisplay): Promise<Ending> => {
    const row = await startJob({ id, generation });
    if (!row) {
      // a failover without synchronous replication loses the last rows, and Redis still has their jobs
      if (!(await staged.findJob(sql, id)))
        log.warn({ queue: contract.queue, jobId: job.id }, "a job was dropped, as its row is gone");
      return { outcome: "skipped" };
    }
    const span = startSpan(`job ${contract.queue}`, {
      kind: "consumer",
      parent: row.traceparent,
      attributes: { "job.id": job.id, "job.attempt": row.attempts, "request.id": row.requestId ?? undefined },
    });
    try {
      const ending = await within(span, () => attempt({ id, generation }, row, { job, display }, span));
      span?.set({ "job.outcome": ending.outcome });
      if (ending.outcome === "failed" || ending.outcome === "dead") span?.fail(ending.outcome);
      return { ...ending, span };
    } finally {
      span?.end();
    }
  };

  const attempt = async (
    { id, generation }: staged.JobRun,
    row: staged.StartedJob,
    { job, display }: { job: BrokerJob; display: JobDisplay },
    span: Span | undefined,
  ): Promise<Ending> => {
    const requestId = row.requestId ?? undefined;
    const origin = { queue: contract.queue, jobId: job.id, requestId };
    const effect = { completed: false };
    try {
      if (row.attempts > MOST_STARTS * contract.attempts && !row.wasDead)
        throw new PermanentError("all its attempts were cut short");
      await handler({
        payload: parse(row.payload),
        log: keptLog(origin, display.keep),
        progress: display.report,
        requestId: span ? withTrace(requestId ?? "", span) : requestId,
        attempt: row.attempts,
        signal,
        done: async (tx) => {
          effect.completed = await completeJobIn(tx)({ id, generation });
          if (!effect.completed) throw new AlreadyDone();
        },
        job: { run: { id, generation }, completed: () => void (effect.completed = true) },
      });
      if (!effect.completed) await completeJob({ id, generation });
      return { outcome: "done", requestId };
    } catch (error) {
      if (error instanceof AlreadyDone) return { outcome: "skipped", requestId };
      const snooze = hadNoConnection(error) ? new Snooze(new Date(Date.now() + pauseMs())) : error;
      if (snooze instanceof Snooze) {
        await staged.snoozeJob(sql, id, generation, { until: snooze.until, later: snooze.later, spent: false });
        return { outcome: "snoozed", requestId };
      }
      // not in the job's log: the dashboard has the errors of the last attempts anyway, and an outage fails many jobs
      const facts = { ...origin, error: describeErrorWithStack(error), attempt: row.attempts };
      const isLast = row.attempts >= contract.attempts;
      // an outage says little about the job; but one that brings its server down must not run for ever
      if (isLast && isPassing(error) && row.attempts < MOST_STARTS * contract.attempts && !row.wasDead) {
        log.warn(facts, "job failed for an outage, to be retried");
        await staged.snoozeJob(sql, id, generation, { until: afterOutage(), later: 0, spent: true });
        return { outcome: "snoozed", requestId };
      }
      const dead = error instanceof PermanentError || row.wasDead || isLast;
      await staged.failJob(sql, id, generation, describeError(error), dead);
      if (dead) log.error(facts, "job given up");
      else log.warn(facts, "job failed, to be retried");
      return { outcome: dead ? "dead" : "failed", error, requestId };
    }
  };

  /** Runs a tick of a schedule, which has no row: the next tick makes up for one that is lost. */
  const runTick = async (job: BrokerJob, display: JobDisplay): Promise<Ending> => {
    const origin = { queue: contract.queue, jobId: job.id };
    try {
      await handler({
        payload: parse(job.data),
        log: keptLog(origin, display.keep),
        progress: display.report,
        requestId: undefined,
        attempt: job.attemptsMade + 1,
        signal,
        done: () => Promise.resolve(),
      });
      return { outcome: "done" };
    } catch (error) {
      if (error instanceof Snooze) return { outcome: "snoozed" };
      log.warn({ ...origin, error: describeErrorWithStack(error) }, "scheduled job failed");
      return { outcome: error instanceof PermanentError ? "dead" : "failed", error };
    }
  };

  const run = async (job: BrokerJob, display: JobDisplay): Promise<Ending> => {
    const [, id, generation] = /^(\d+)\.(\d+)$/.exec(job.id ?? "") ?? [];
    try {
      if (id !== undefined && generation !== undefined) return await runStaged(job, id, Number(generation), display);
      if (job.repeatJobKey !== undefined) return await runTick(job, display);
      return { outcome: "dead", error: new PermanentError("only staged jobs and schedules are run") };
    } catch (error) {
      // the row could not be read or updated: BullMQ retries, and the relay does once BullMQ has given up
      return { outcome: "failed", error };
    }
  };

  const running = new Set<Promise<Ending>>();
  const closing = new AbortController();
  const process = async (job: BrokerJob): Promise<void> => {
    const startedAt = performance.now();
    const display = new JobDisplay(job);
    const ending = run(job, display);
    running.add(ending);
    const { outcome, error, requestId, span } = await ending;
    running.delete(ending);
    const ms = performance.now() - startedAt;
    observeJob({ queue: contract.queue, outcome }, ms / 1_000, span);
    // ticks come every few seconds, whether there is work or not
    const level = job.repeatJobKey === undefined ? "info" : "debug";
    const facts = { queue: contract.queue, jobId: job.id, requestId, outcome, ms: Math.round(ms * 10) / 10 };
    const succeeded = outcome === "done" || outcome === "skipped";
    if (!succeeded || logsSuccess(requestId ?? job.id ?? "")) within(span, () => log[level](facts, "job finished"));
    const shown = display.end(outcome === "failed" || outcome === "dead");
    if (shown) await shown;
    if (outcome === "failed") throw forBroker(error, Error);
    if (outcome === "dead") throw forBroker(error, UnrecoverableError);
  };
  const worker = openWorker(contract, process, { concurrency, signal: closing.signal });
  // it rejects only when it is closed before it is ready
  worker.catch(() => undefined);

  let slots = concurrency;

  return {
    worker,
    resize(to) {
      if (to === slots) return;
      slots = to;
      // it rejects only when it is closed before it is ready
      worker.then((open) => setConcurrency(open, to)).catch(() => undefined);
    },
    async close() {
      closing.abort();
      const closed = worker.then((open) => open.close()).catch(() => undefined);
      await Promise.race([closed, Promise.all(running).then(() => whileBrokerAnswers(closed))]);
    },
  };
}

/** Changes how many jobs a worker runs at once. */
function setConcurrency(worker: BrokerWorker, concurrency: number): void {
  worker.concurrency = concurrency;
  // With all its slots taken it would look for jobs only when one of them ends; resumed, it looks at once. Nothing may come between
  // these two calls: a worker that sees its pause while it is idle ends.
  void worker.pause(true);
  void worker.resume();
}

/** Returns the error for BullMQ to store and show, without the values that messages may quote. */
function forBroker(error: unknown, Kind: new (message: string) => Error): Error {
  const failure = new Kind(describeError(error));
  failure.stack = describeErrorWithStack(error);
  return failure;
}
