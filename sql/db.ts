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

/** Makes a handle for single statements of one purpose, with its own connections. */
function poolFor(purpose: string, limits: PoolLimits): Db {
  const pool = openPool(purpose, limits, () => wakeRelays());
  pools.push(pool);
  return pool.db;
}

/** Runs single statements, each in its own transaction, many at once over few connections. */
export const sql = poolFor("statements", { connections: limit });

/**
 * Runs reads of a few rows by key, so many per connection that they share packets. A statement that may wait or take longer
 * would delay the others: it belongs to `sql`.
 */
export const lookups = poolFor("lookups", { connections: 2 });

/**
 * Runs single statements that may wait for a contended row, such as a box that is almost sold out. On their own connections
 * they delay only each other.
 */
export const contended = poolFor("contended", { connections: limit });

/** The signal that jobs are due. */
export const jobsDue = "jobs";

/**
 * Wakes the relays after the commit of staged jobs, in a separate transaction. The signal may be lost, so relays also poll.
 */
const wakeRelays = coalesce(() =>
  sql`select from pg_notify('signals', ${jobsDue})`.catch((error: unknown) =>
    log.debug({ error: describeError(error) }, "the relays were not woken"),
  ),
);

/** Connections for transactions, one at a time, that serve none now. */
const idle = new Set<Connection>();
const waiting = new Set<() => void>();
let transactions = 0;
let closed = false;

function popIdle(): Connection | undefined {
  for (const connection of idle) {
    idle.delete(connection);
    if (!connection.lost) return connection;
  }
  return undefined;
}

/** Waits for one of `limit` slots for transactions; rejects when none becomes free in time. */
async function acquireSlot(): Promise<void> {
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

function releaseSlot(): void {
  const [next] = waiting;
  if (!next) {
    transactions -= 1;
    return;
  }
  waiting.delete(next);
  next();
}

/**
 * Runs `work` in a transaction. It resolves after the commit. When it rejects, nothing is committed, with one exception: after
 * the loss of the connection during the commit the result is unknown. A failed statement rolls the transaction back even if
 * `work` catches the error; statements after the end of `work`, or of the connection, are refused.
 */
export async function transaction<T>(work: (tx: Db) => Promise<T>): Promise<T> {
  await acquireSlot();
  try {
    return await runIn(popIdle() ?? openConnection("transactions"), work);
  } finally {
    releaseSlot();
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
  return { statements: { running }, transactions: { running: transactions, waiting: waiting.size } };
}

/** Resolves when the database responds. */
export async function pingDatabase(): Promise<void> {
  await sql`select`;
}

/** Lets running transactions and statements finish, refuses new ones, and disconnects. */
export async function closeDatabase(): Promise<void> {
  const slots = Array.from({ length: limit }, acquireSlot);
  closed = true;
  for (const pool of pools) pool.stop();
  await Promise.allSettled(slots);
  await Promise.all([...pools, ...idle].map((each) => each.close()));
}
