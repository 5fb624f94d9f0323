import { coalesce } from "../lib/process/coalesce.js";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { log } from "../lib/process/log.js";
import { openConnection, type Connection } from "./driver/connection.js";
import { connectionLost, DatabaseError } from "./driver/errors.js";
import { openPool, type PoolLimits } from "./driver/pool.js";
import { openReplicas, type ReplicaStats } from "./driver/replicas.js";
import { findPoolerFault } from "./driver/session-settings.js";
import { openSlots } from "./driver/slots.js";
import { tag, type Db } from "./driver/tag.js";
import { openTurns } from "./driver/turns.js";

export {
  DatabaseError,
  faultOf,
  hadNoConnection,
  isForeignKeyViolation,
  isPassing,
  isUnavailable,
  isUniqueViolation,
} from "./driver/errors.js";
export type { Fault } from "./driver/errors.js";
export type { Db } from "./driver/tag.js";

const limit = config.DATABASE_POOL;
const pools: ReturnType<typeof openPool>[] = [];

/** Opens the connections for single statements of one purpose. */
function poolFor(purpose: string, limits: PoolLimits) {
  const pool = openPool(purpose, limits, () => wakeRelays());
  pools.push(pool);
  return pool;
}

const statements = poolFor("statements", { connections: limit });
/** Runs single statements, each in its own transaction, many at once over few connections. */
export const sql = statements.db;

const keyed = poolFor("lookups", { connections: 2 });
/**
 * Runs reads of a few rows by key, so many per connection that they share packets. A statement that may wait or take longer
 * would delay the others: it belongs to `sql`, or to `searchesOf`.
 */
export const lookups = keyed.db;

/**
 * Runs single statements that may wait for a contended row, such as a box that is almost sold out. On their own connections
 * they delay only each other.
 */
export const { db: contended } = poolFor("contended", { connections: limit });

/**
 * Runs statements for many rows by key, one batch after the other (in-batches.ts). To plan one for each batch's arrays takes longer
 * than to run it.
 */
export const { db: batches } = poolFor("batches", { connections: 4, plansByKey: true });

/** Several times what the rollup of a day of 10⁷ orders takes, as it may wait for others. */
const LONG_MS = 15 * 60_000;

const long = poolFor("long statements", { connections: 2, timeoutMs: LONG_MS });
/**
 * Runs single statements whose work grows with the orders of the whole platform, so that they may take minutes. A process that stops
 * does not wait for them: Postgres ends and commits what it was sent.
 */
export const { db: longStatements } = long;

const searches = poolFor("searches", { connections: 2, timeoutMs: config.SEARCH_TIMEOUT_MS });

const replicas = openReplicas(config.REPLICAS, config.DATABASE_REPLICA_MAX_LAG_MS, lookups, poolFor);
const shortReads = { connections: 2, timeoutMs: config.SEARCH_TIMEOUT_MS };
const lookupsFor = replicas.reader("lookups", shortReads, keyed.run);
const searchesFor = replicas.reader("searches", shortReads, searches.run);

/** As `sql`, for reports, which may be as old as a replica. */
export const reports = tag(replicas.reader("reports", { connections: 4 }, statements.run)("reports"));

/** Whether replicas may answer reads that need not see the last commits. */
export const hasReplicas = config.REPLICAS.length > 0;

/** As `lookups`, for what anyone may read and may be as old as the client's replica. */
export const recentLookupsOf = (client: string): Db => tag(lookupsFor(client));

/**
 * A search counts as the rows that it may return, but as a default page at least. A larger page counts twice: all other requests wait
 * while the process writes it.
 */
const LEAST_SEARCH = 51;
const sizeOf = (rows: number): number => (rows > LEAST_SEARCH ? 2 * rows : LEAST_SEARCH);
const ROWS_AT_ONCE = 16 * LEAST_SEARCH;
const inClientsShare = openTurns("searches of one client", ROWS_AT_ONCE / 2, config.SEARCH_TIMEOUT_MS);
const inShare = openTurns("searches", ROWS_AT_ONCE, config.SEARCH_TIMEOUT_MS);

/**
 * Returns a handle for reads of up to `rows` rows that anyone may ask for, such as boxes around a place. They have a short timeout,
 * and only some run at once, half of them for one client: a flood of them delays only searches, and one client's flood its own.
 * What is `recent` may be as old as the client's replica.
 */
export function searchesOf(client: string, rows: number, recent = false): Db {
  const size = sizeOf(rows);
  const run = recent ? searchesFor(client) : searches.run;
  return tag((...statement) => inClientsShare(client, () => inShare("", () => run(...statement), size), size));
}

/** The signal that jobs are due, a led one (signals.ts). */
export const jobsDue = "jobs";

/** The least time between two signals: under load, one for each order would double its statements. The first does not wait. */
const REST_MS = 10;

/**
 * Wakes the relay that leads after the commit of staged jobs, in a separate transaction. The signal may be lost, so relays also
 * poll.
 */
const wakeRelays = coalesce(
  () =>
    sql`select from pg_notify('led_signals', ${jobsDue})`.catch((error: unknown) =>
      log.debug({ error: describeError(error) }, "the relays were not woken"),
    ),
  REST_MS,
);

/**
 * Runs one piece of work of a caller at a time, such as a customer's orders, which a lock in Postgres serializes anyway. Hundreds
 * that a caller sends at once wait here; in Postgres they would take every connection to wait on.
 */
export const inTurn = openTurns("requests of one caller", 1, config.DATABASE_TIMEOUT_MS);

/** Runs some changes of one caller at once: those that wait for a row leave most connections of a pool to others. */
export const amongChanges = openTurns("changes of one caller", config.CHANGES_AT_ONCE, config.DATABASE_TIMEOUT_MS);

/** Reads for some resumed streams at once: after a restart thousands come back together, and other requests need connections too. */
export const amongResumes = openTurns("resumed streams", 4, config.DATABASE_TIMEOUT_MS);

/** Takes in some large bodies of one caller at once, as each is held in memory until its request is answered. */
export const amongLargeBodies = openTurns(
  "large bodies of one caller",
  config.LARGE_BODIES_AT_ONCE,
  config.DATABASE_TIMEOUT_MS,
);

/** Connections for transactions, one at a time, that serve none now. */
const idle = new Set<Connection>();
const slots = openSlots("transactions", limit, config.DATABASE_WAIT_MS);
let closed = false;

function popIdle(): Connection | undefined {
  for (const connection of idle) {
    idle.delete(connection);
    if (!connection.lost) return connection;
  }
  return undefined;
}

/**
 * Runs `work` in a transaction. It resolves after the commit. When it rejects, nothing is committed, with one exception: after
 * the loss of the connection during the commit the result is unknown. A failed statement rolls the transaction back even if
 * `work` catches the error; statements after the end of `work`, or of the connection, are refused.
 */
export async function transaction<T>(work: (tx: Db) => Promise<T>): Promise<T> {
  if (closed) throw connectionLost("this process is stopping");
  await slots.acquire();
  try {
    return await runIn(popIdle() ?? openConnection("transactions"), work);
  } finally {
    slots.release();
  }
}

async function runIn<T>(connection: Connection, work: (tx: Db) => Promise<T>): Promise<T> {
  let ended = false;
  const stagedBefore = connection.staged;
  const command = tag(connection.run);
  const tx = tag(async (template, parameters) => {
    if (ended) throw new Error("the transaction of this statement is over");
    return connection.run(template, parameters);
  });
  try {
    await command`begin`;
    const result = await connection.whileOpen(work(tx));
    ended = true;
    const { command: outcome } = await command`commit`;
    if (outcome !== "COMMIT")
      throw new DatabaseError("a statement of the transaction failed, so it was rolled back", "25P02");
    if (connection.staged > stagedBefore) wakeRelays();
    idle.add(connection);
    return result;
  } catch (error) {
    ended = true;
    // no response means that the connection is lost, and the transaction with it
    await command`rollback`.then(
      () => idle.add(connection),
      () => undefined,
    );
    throw error;
  }
}

/** Returns the number of running statements and transactions, and of transactions that wait for a slot. */
export function databaseStats(): {
  statements: { running: number };
  transactions: { running: number; waiting: number };
} {
  const running = pools.reduce((sum, pool) => sum + pool.running(), 0);
  return { statements: { running }, transactions: { running: slots.taken(), waiting: slots.waiting() } };
}

/** Returns how far the replicas are behind, and how reads were spread. */
export const replicaStats = (): { replicas: ReplicaStats[]; passedOver: number } => replicas.stats();

/** Whether statements have what they need: a pooler may withhold it. */
let isFit = !config.POOLED;

/** Resolves when the database responds, and rejects while a pooler in front of it must not be used. */
export async function pingDatabase(): Promise<void> {
  const fault = isFit ? await sql`select`.then(() => null) : await findPoolerFault(sql);
  if (fault !== null) throw new Error(fault);
  isFit = true;
}

/** Lets running transactions and statements finish, but for long ones, refuses new ones, and disconnects. */
export async function closeDatabase(): Promise<void> {
  const last = Array.from({ length: limit }, () => slots.acquire());
  closed = true;
  replicas.stop();
  for (const pool of pools) pool.stop();
  await Promise.allSettled(last);
  // what still runs there is left to Postgres
  void long.close();
  const others = pools.filter((pool) => pool !== long);
  await Promise.all([...others, ...idle].map((each) => each.close()));
}
