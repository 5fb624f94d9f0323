import { coalesce } from "../lib/process/coalesce.js";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { log } from "../lib/process/log.js";
import { openConnection, type Connection } from "./driver/connection.js";
import { connectionLost, DatabaseError } from "./driver/errors.js";
import { openPool, type PoolLimits } from "./driver/pool.js";
import { tag, type Db } from "./driver/tag.js";

export {
  DatabaseError,
  isConnectionLost,
  isContended,
  isDataException,
  isForeignKeyViolation,
  isTimedOut,
  isUniqueViolation,
} from "./driver/errors.js";
export type { Db } from "./driver/tag.js";

const limit = config.DATABASE_POOL;
const pools: ReturnType<typeof openPool>[] = [];

/** Makes a handle for single statements of one purpose, on connections of their own. */
function poolFor(purpose: string, limits: PoolLimits): Db {
  const pool = openPool(purpose, limits, () => wakeRelays());
  pools.push(pool);
  return pool.db;
}

/** Carries out single statements, each in a transaction of its own, many at once over few connections. */
export const sql = poolFor("statements", { connections: limit });

/**
 * Carries out reads of a few rows by their keys, so many over each connection that they travel together. Whatever may wait
 * or take longer would hold up the others: it belongs to `sql`.
 */
export const lookups = poolFor("lookups", { connections: 2 });

/**
 * Carries out single statements that may wait for a row that everyone wants, such as a box that is almost gone: apart
 * from the others, so that they hold up nobody but each other.
 */
export const contended = poolFor("contended", { connections: limit });

/** The signal that jobs are due. */
export const jobsDue = "jobs";

/**
 * Wakes the relays when what staged jobs is committed, in a transaction of its own. The signal may be lost, so relays also
 * look for themselves.
 */
const wakeRelays = coalesce(() =>
  sql`select from pg_notify('signals', ${jobsDue})`.catch((error: unknown) =>
    log.debug({ error: describeError(error) }, "the relays were not woken"),
  ),
);

/** Connections that serve one transaction at a time, and none just now. */
const idle = new Set<Connection>();
const waiting = new Set<() => void>();
let transactions = 0;
let closed = false;

function takeIdle(): Connection | undefined {
  for (const connection of idle) {
    idle.delete(connection);
    if (!connection.lost) return connection;
  }
  return undefined;
}

/** Waits for one of the places for transactions; rejects when none becomes free in time. */
async function takePlace(): Promise<void> {
  if (closed) throw connectionLost("this process is stopping");
  if (transactions < limit) {
    transactions += 1;
    return;
  }
  await new Promise<void>((resolve, reject) => {
    const take = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      waiting.delete(take);
      reject(new DatabaseError("too many transactions are waiting", "53300"));
    }, config.DATABASE_TIMEOUT_MS);
    waiting.add(take);
  });
}

function givePlace(): void {
  const [next] = waiting;
  if (!next) {
    transactions -= 1;
    return;
  }
  waiting.delete(next);
  next();
}

/**
 * Runs `work` in a transaction of its own. It resolves when everything is committed. When it rejects, nothing is, with
 * one exception: a connection lost during the commit itself leaves that open. A statement that failed has undone the
 * transaction, even if `work` catches the error; statements after the end of `work`, or of the connection, are refused.
 */
export async function transaction<T>(work: (tx: Db) => Promise<T>): Promise<T> {
  await takePlace();
  try {
    return await runIn(takeIdle() ?? openConnection("transactions"), work);
  } finally {
    givePlace();
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
      throw new DatabaseError("a statement of the transaction failed, so nothing of it was kept", "25P02");
    if (connection.staged > stagedBefore) wakeRelays();
    idle.add(connection);
    return result;
  } catch (error) {
    ended = true;
    // without an answer the connection is lost, and the transaction with it
    await command`rollback`.then(
      () => idle.add(connection),
      () => undefined,
    );
    throw error;
  }
}

/** Statements and transactions that are under way, and transactions that wait for their turn. */
export function databaseStats(): {
  statements: { running: number };
  transactions: { running: number; waiting: number };
} {
  const running = pools.reduce((sum, pool) => sum + pool.running(), 0);
  return { statements: { running }, transactions: { running: transactions, waiting: waiting.size } };
}

/** Resolves when the database answers. */
export async function pingDatabase(): Promise<void> {
  await sql`select`;
}

/** Lets transactions and statements that are under way finish, refuses new ones, and disconnects. */
export async function closeDatabase(): Promise<void> {
  const places = Array.from({ length: limit }, takePlace);
  closed = true;
  for (const pool of pools) pool.stop();
  await Promise.allSettled(places);
  await Promise.all([...pools, ...idle].map((each) => each.close()));
}
