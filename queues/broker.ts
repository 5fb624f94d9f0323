import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { isNativeError } from "node:util/types";
import { createPostgresBackend, Queue, runMigrations, setDefaultBackendFactory, Worker } from "bullmq";
import type { Job, JobsOptions, Processor, WorkerOptions } from "bullmq";
import pg from "pg";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { isUntold, ROLE, type Role } from "../lib/process/find-primary.js";
import { log } from "../lib/process/log.js";
import { directPrimary } from "../lib/process/primary.js";
import { pgOptions, splitServers } from "../lib/process/server-address.js";
import { withTimeout } from "../lib/process/with-timeout.js";
import { CALL_TIMEOUT_MS, type Connections } from "./connections.js";
import type { Contract, Payload } from "./contract.js";
import { contracts } from "./index.js";
import { connectToRedis, prefixOf } from "./redis-broker.js";

export type BrokerQueue = Queue<Payload, void>;
export type BrokerWorker = Worker<Payload, void>;
export type BrokerJob = Job<Payload, void>;

const POSTGRES_SCHEMA = "bullmq";
const ANSWER_MS = 3_000;
const REOPEN_MS = 1_000;
const RECOVERY_CHECK_MS = 1_000;
const LOG_PAUSE_MS = 10_000;

/** Finished jobs are kept for the dashboard only; the truth is in their rows. Ages in seconds. */
const RETENTION: JobsOptions = {
  removeOnComplete: { count: 1_000, age: 24 * 3_600 },
  removeOnFail: { count: 5_000, age: 14 * 24 * 3_600 },
};

/**
 * Another worker takes over a dead worker's jobs within 15 s: once their locks have lapsed, the second check for stalled jobs
 * finds them at the latest (the first may have been the dead worker's). A lock is renewed at half its duration.
 */
const TAKE_OVER: Partial<WorkerOptions> = {
  lockDuration: 10_000,
  stalledInterval: 2_000,
  // Attempts are counted in Postgres; BullMQ's own count of stalls must never end a job.
  maxStalledCount: 20,
  runRetryDelay: 1_000,
  // how long a worker may not notice that an operator has lifted the limit of a queue's rate
  maximumRateLimitDelay: 2_000,
};

const isTrue = () => true;
const isFalse = () => false;

let connections: Connections | undefined;
const queues = new Map<string, BrokerQueue>();

/** The one place that decides where BullMQ lives. Nothing connects before it is needed. */
function connect(): Connections {
  connections ??= config.REDIS === null ? connectToPostgres() : connectToRedis(config.REDIS, logBrokerError);
  return connections;
}

/** A client for the server that is the primary when it connects. */
class PrimaryClient extends pg.Client {
  readonly server = directPrimary.current();
  constructor(options?: pg.ClientConfig) {
    super({ ...options, ...pgOptions(directPrimary.current()), connectionTimeoutMillis: CALL_TIMEOUT_MS });
  }
}

/** Refuses a new connection to a server that is not the primary, and ends it once another is. */
function keepWithPrimary(client: pg.PoolClient, done: (error?: Error) => void): void {
  const judge = async () => {
    const [role] = await client.query<Role>(ROLE).then(
      ({ rows }) => rows,
      (error: unknown) => {
        if (isUntold(error)) return [];
        throw error;
      },
    );
    if (!role) return;
    const server = client instanceof PrimaryClient ? client.server : directPrimary.current();
    const forget = directPrimary.add(role, server, () => client.connection.stream.destroy());
    if (!forget) throw new Error("the server is not the primary");
    client.once("end", forget);
  };
  judge().then(
    () => done(),
    (error: unknown) => {
      directPrimary.doubt();
      void directPrimary.find().catch(logBrokerError);
      done(isNativeError(error) ? error : new Error(String(error)));
    },
  );
}

function connectToPostgres(): Connections {
  setDefaultBackendFactory(createPostgresBackend);
  const options = {
    Client: PrimaryClient,
    verify: keepWithPrimary,
    options: `-c search_path=${POSTGRES_SCHEMA}`,
    application_name: "bullmq",
    keepAlive: true,
    // to get one from the pool, too
    connectionTimeoutMillis: CALL_TIMEOUT_MS,
    query_timeout: 2 * CALL_TIMEOUT_MS,
    statement_timeout: 2 * CALL_TIMEOUT_MS,
  };
  const producer = new pg.Pool({ ...options, max: 5 });
  // every worker keeps one connection to itself for LISTEN
  const consumer = new pg.Pool({ ...options, max: contracts.length + 10 });
  for (const pool of [producer, consumer]) {
    pool.setMaxListeners(0);
    pool.on("error", logBrokerError);
    // a connection lost between two queries of its borrower would end the process
    pool.on("connect", (client) => client.on("error", logBrokerError));
  }
  return {
    name: `Postgres at ${splitServers(config.DATABASE_DIRECT_URL)
      .map((server) => new URL(server).host)
      .join(", ")}`,
    producer,
    consumer: () => consumer,
    prepare: async () => {
      await directPrimary.find();
      const client = await producer.connect();
      try {
        await runMigrations(client, POSTGRES_SCHEMA);
      } finally {
        client.release();
      }
    },
    ping: async () => {
      await producer.query("select 1");
    },
    describe: () => Promise.resolve([]),
    // it is where the rows are, and fails over with them
    listLost: () => Promise.resolve([]),
    remember: () => Promise.resolve(),
    close: async () => {
      await Promise.all([producer.end(), consumer.end()]);
    },
  };
}

let lastLoggedAt = 0;
/** The connections whose recovery is awaited. */
let troubled: Connections | undefined;

/** While the broker is down, every connection fails twice a second; one log line in ten seconds is enough. */
function logBrokerError(error: unknown): void {
  if (!connections) return;
  if (Date.now() - lastLoggedAt >= LOG_PAUSE_MS) {
    lastLoggedAt = Date.now();
    log.warn({ broker: connections.name, error: describeError(error) }, "the broker is in trouble");
  }
  if (troubled === connections) return;
  troubled = connections;
  void logRecovery(connections);
}

/** Logs that the broker answers again, unless the process has closed its connections before. */
async function logRecovery(awaited: Connections): Promise<void> {
  while (connections === awaited) {
    await delay(RECOVERY_CHECK_MS, undefined, { ref: false });
    if (connections !== awaited || !(await pingBroker().then(isTrue, isFalse))) continue;
    troubled = undefined;
    log.info({ broker: awaited.name }, "the broker answers again");
    return;
  }
}

/** Migrates the broker's own tables, where it has any; safe to run concurrently. */
export async function prepareBroker(): Promise<void> {
  await connect().prepare();
}

/** Resolves when the broker answers for all of these queues, rejects when it does not: with NodeOfCluster when it never will. */
export async function pingBroker(asked: readonly Contract[] = contracts): Promise<void> {
  await connect().ping(asked.map(({ queue }) => queue));
}

/**
 * Resolves when `work`, the end of a worker or of calls, does. It does not wait for a broker that does not answer, nor longer than
 * a call may take: what a broken connection has lost may never end, though the broker answers on a new one. No job is lost, as
 * jobs are rows.
 */
export async function whileBrokerAnswers(work: Promise<unknown>): Promise<void> {
  const limit = delay(2 * CALL_TIMEOUT_MS, undefined, { ref: false });
  const answered = connections ? withTimeout(ANSWER_MS, pingBroker()).then(isTrue, isFalse) : Promise.resolve(true);
  await Promise.race([work, limit, answered.then((answers) => (answers ? work : undefined))]);
}

/** Returns the facts that each server of Redis gives about itself (INFO), by name; none when the broker lives in Postgres. */
export async function describeRedis(): Promise<ReadonlyMap<string, string>[]> {
  const texts = await connect().describe();
  return texts.map((text) => {
    const facts = text.matchAll(/^(\w+):(.*?)\r?$/gm);
    return new Map([...facts].map(([, name = "", value = ""]) => [name, value]));
  });
}

/** Returns the queues that are new in Redis, or whose server was wiped or restarted empty, until `rememberQueues` gets them. */
export const listLostQueues = (): Promise<string[]> => connect().listLost();

/** Call it when the jobs of these queues are due again. */
export const rememberQueues = (names: readonly string[]): Promise<void> => connect().remember(names);

/** Returns the queue of a contract, to add and to read jobs; one per process. */
export function openQueue({ queue: name, attempts, backoffMs }: Contract): BrokerQueue {
  const known = queues.get(name);
  if (known) return known;
  const queue: BrokerQueue = new Queue(name, {
    connection: connect().producer,
    prefix: prefixOf(name),
    defaultJobOptions: {
      ...RETENTION,
      attempts,
      backoff: { type: "exponential", delay: backoffMs, jitter: 0.5 },
      stackTraceLimit: 3,
    },
    streams: { events: { maxLen: 1_000 } },
  });
  queue.on("error", logBrokerError);
  queues.set(name, queue);
  // A queue whose first connection was cut stays unusable; the next caller gets a new one.
  queue.waitUntilReady().catch((error: unknown) => {
    logBrokerError(error);
    if (queues.get(name) === queue) queues.delete(name);
  });
  return queue;
}

/** Returns every queue, for the dashboard and the metrics. */
export function openQueues(): BrokerQueue[] {
  return contracts.map(openQueue);
}

/**
 * Opens a worker that runs up to `concurrency` jobs of a contract's queue at once, as soon as the broker can be reached; the
 * caller closes it. Rejects when `signal` is aborted before. A worker whose first connection was cut stays unusable, and BullMQ
 * retries it without a pause, for ever: so none runs before it is ready.
 */
export async function openWorker(
  { queue }: Contract,
  processor: Processor<Payload, void>,
  { concurrency, signal }: { concurrency: number; signal: AbortSignal },
): Promise<BrokerWorker> {
  const aborted = once(signal, "abort");
  for (;;) {
    signal.throwIfAborted();
    const worker: BrokerWorker = new Worker(queue, processor, {
      connection: connect().consumer(),
      prefix: prefixOf(queue),
      concurrency,
      autorun: false,
      ...TAKE_OVER,
    });
    worker.on("error", logBrokerError);
    try {
      await Promise.race([worker.waitUntilReady(), aborted]);
      signal.throwIfAborted();
      worker.run().catch(logBrokerError);
      return worker;
    } catch (error) {
      // a worker that is closed while it gets ready keeps a connection for ever
      void Promise.allSettled([worker.waitUntilReady()]).then(() => worker.close(true).catch(logBrokerError));
      if (!signal.aborted) logBrokerError(error);
      await delay(REOPEN_MS, undefined, { signal });
    }
  }
}

/** Closes the connections to the broker; close the workers first. */
export async function closeBroker(): Promise<void> {
  const closing = connections;
  connections = undefined;
  await Promise.all([...queues.values()].map((queue) => queue.close()));
  queues.clear();
  await closing?.close();
}
