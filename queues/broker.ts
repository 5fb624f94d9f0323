import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { isNativeError } from "node:util/types";
import { createPostgresBackend, Queue, runMigrations, setDefaultBackendFactory, Worker } from "bullmq";
import type { ConnectionOptions, Job, JobsOptions, Processor, WorkerOptions } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { isUntold, ROLE, type Role } from "../lib/process/find-primary.js";
import { log } from "../lib/process/log.js";
import { directPrimary } from "../lib/process/primary.js";
import { pgOptions, splitServers, type ServerAddress } from "../lib/process/server-address.js";
import { withTimeout } from "../lib/process/with-timeout.js";
import type { Contract, Payload } from "./contract.js";
import { contracts } from "./index.js";

export type BrokerQueue = Queue<Payload, void>;
export type BrokerWorker = Worker<Payload, void>;
export type BrokerJob = Job<Payload, void>;

const POSTGRES_SCHEMA = "bullmq";
/** A call to the broker that takes longer fails; job ids are stable, so repeating it is safe. */
const CALL_TIMEOUT_MS = 5_000;
/** BullMQ lets a worker's call wait this long for a job at most. */
const LONGEST_WAIT_MS = 10_000;
/** A call of a worker without an answer by then has none to come: the network may have forgotten the connection. */
const SILENCE_MS = LONGEST_WAIT_MS + 2_000;
const LONGEST_RECONNECT_DELAY_MS = 500;
const FIRST_CONNECT_MS = 1_000;
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
};

/** Every queue and every worker adds some to the connection that it shares with the others. */
const MOST_LISTENERS = 10 * contracts.length;

const isTrue = () => true;
const isFalse = () => false;

interface Connections {
  /** For adding and reading jobs: fails fast. */
  readonly producer: ConnectionOptions;
  /** For workers: waits as long as it takes. Made when the process opens its first worker. */
  consumer(): ConnectionOptions;
  prepare(): Promise<void>;
  ping(): Promise<void>;
  /** What Redis says about itself; null when the broker lives in Postgres. */
  describe(): Promise<string | null>;
  close(): Promise<void>;
}

let connections: Connections | undefined;
const queues = new Map<string, BrokerQueue>();

/** The one place that decides where BullMQ lives. Nothing connects before it is needed. */
function connect(): Connections {
  connections ??= config.REDIS === null ? connectToPostgres() : connectToRedis(config.REDIS);
  return connections;
}

function connectToRedis({ url, tls }: ServerAddress): Connections {
  const options = {
    ...(tls && { tls }),
    connectTimeout: CALL_TIMEOUT_MS,
    retryStrategy: (times: number) => Math.min(times * 50, LONGEST_RECONNECT_DELAY_MS),
  };
  const producer = new Redis(url, {
    ...options,
    commandTimeout: CALL_TIMEOUT_MS,
    socketTimeout: CALL_TIMEOUT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
  });
  producer.on("error", logBrokerError).setMaxListeners(MOST_LISTENERS);
  /** The first command may come before the connection is ready. */
  const ready = async () => {
    if (producer.status === "connecting" || producer.status === "connect")
      await once(producer, "ready", { signal: AbortSignal.timeout(FIRST_CONNECT_MS) });
  };
  let consumer: Redis | undefined;
  return {
    producer,
    consumer: () => {
      consumer ??= new Redis(url, {
        ...options,
        maxRetriesPerRequest: null,
        socketTimeout: SILENCE_MS,
        // the socket's timer may still be that of the connection before, and then a call that waits needs its own
        blockingTimeout: SILENCE_MS,
        blockingTimeoutGrace: SILENCE_MS - LONGEST_WAIT_MS,
      })
        .on("error", logBrokerError)
        .setMaxListeners(MOST_LISTENERS);
      return consumer;
    },
    prepare: () => Promise.resolve(),
    ping: async () => {
      await ready();
      await producer.ping();
    },
    describe: async () => {
      await ready();
      return producer.info();
    },
    close: () => {
      for (const client of [producer, consumer]) client?.disconnect();
      return Promise.resolve();
    },
  };
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
    describe: () => Promise.resolve(null),
    close: async () => {
      await Promise.all([producer.end(), consumer.end()]);
    },
  };
}

/** The broker in words, without its credentials. */
const BROKER = config.REDIS
  ? `Redis at ${new URL(config.REDIS.url).host}`
  : `Postgres at ${splitServers(config.DATABASE_DIRECT_URL)
      .map((server) => new URL(server).host)
      .join(", ")}`;

let lastLoggedAt = 0;
/** The connections whose recovery is awaited. */
let troubled: Connections | undefined;

/** While the broker is down, every connection fails twice a second; one log line in ten seconds is enough. */
function logBrokerError(error: unknown): void {
  if (!connections) return;
  if (Date.now() - lastLoggedAt >= LOG_PAUSE_MS) {
    lastLoggedAt = Date.now();
    log.warn({ broker: BROKER, error: describeError(error) }, "the broker is in trouble");
  }
  if (troubled === connections) return;
  troubled = connections;
  void logRecovery(connections);
}

/** Logs that the broker answers again, unless the process has closed its connections before. */
async function logRecovery(awaited: Connections): Promise<void> {
  while (connections === awaited) {
    await delay(RECOVERY_CHECK_MS, undefined, { ref: false });
    if (connections !== awaited || !(await awaited.ping().then(isTrue, isFalse))) continue;
    troubled = undefined;
    log.info({ broker: BROKER }, "the broker answers again");
    return;
  }
}

/** Migrates the broker's own tables, where it has any; safe to run concurrently. */
export async function prepareBroker(): Promise<void> {
  await connect().prepare();
}

/** Resolves when the broker answers, rejects when it does not. */
export async function pingBroker(): Promise<void> {
  await connect().ping();
}

/**
 * Resolves when `work`, the end of a worker or of calls, does. It does not wait for a broker that does not answer, nor longer than
 * a call may take: what a broken connection has lost may never end, though the broker answers on a new one. No job is lost, as
 * jobs are rows.
 */
export async function whileBrokerAnswers(work: Promise<unknown>): Promise<void> {
  const limit = delay(2 * CALL_TIMEOUT_MS, undefined, { ref: false });
  const answered = connections
    ? withTimeout(ANSWER_MS, connections.ping()).then(isTrue, isFalse)
    : Promise.resolve(true);
  await Promise.race([work, limit, answered.then((answers) => (answers ? work : undefined))]);
}

/** Returns the facts that Redis gives about itself (INFO), by name; null when the broker lives in Postgres. */
export async function describeRedis(): Promise<ReadonlyMap<string, string> | null> {
  const info = await connect().describe();
  if (info === null) return null;
  const facts = info.matchAll(/^(\w+):(.*?)\r?$/gm);
  return new Map([...facts].map(([, name = "", value = ""]) => [name, value]));
}

/** Returns the queue of a contract, to add and to read jobs; one per process. */
export function openQueue({ queue: name, attempts, backoffMs }: Contract): BrokerQueue {
  const known = queues.get(name);
  if (known) return known;
  const queue: BrokerQueue = new Queue(name, {
    connection: connect().producer,
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
