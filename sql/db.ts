import { coalesced } from "../lib/process/coalesced.js";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { log } from "../lib/process/log.js";
import { openConnection, type Connection } from "./driver/connection.js";
import { connectionLost, DatabaseError } from "./driver/errors.js";
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
let closed = false;

/** Behind a statement that takes long everything waits, however little it is. */
const isFreer = (one: Connection, other: Connection): boolean =>
  one.stalled === other.stalled ? one.running < other.running : other.stalled;

/** Connections that single statements share, each with many of them on its way at once. */
function share(purpose: string, most: number): { db: Db; connections: ReadonlySet<Connection> } {
  const connections = new Set<Connection>();

  /** A connection with nothing to do, else a new one while there may be more, else the one with the least to do that gets on. */
  function leastBusy(): Connection {
    let best: Connection | undefined;
    for (const connection of connections) {
      if (connection.running === 0) return connection;
      if (!best || isFreer(connection, best)) best = connection;
    }
    if (best && connections.size >= most) return best;
    const connection = openConnection(purpose, {
      onLost: () => connections.delete(connection),
      onStaged: wakeRelays,
    });
    connections.add(connection);
    return connection;
  }

  const db = tag((statement) => {
    if (closed) statement.reject(connectionLost("this process is stopping"));
    else leastBusy().run(statement);
  });
  return { db, connections };
}

const statements = share("statements", limit);
const lookupConnections = 2;
const quick = share("lookups", lookupConnections);
const waiters = share("contended", limit);

/** Carries out single statements, each in a transaction of its own, many at once over few connections. */
export const sql: Db = statements.db;

/**
 * Carries out reads of a few rows by their keys, so many over each connection that they travel together: that saves a
 * hot endpoint a sixth of its work. Whatever may wait or take longer would hold up the others: it belongs to `sql`.
 */
export const lookups: Db = quick.db;

/**
 * Carries out single statements that may wait for a row that everyone wants, such as a box that is almost gone: apart
 * from the others, so that they hold up nobody but each other.
 */
export const contended: Db = waiters.db;

/** The signal that jobs are due. */
export const jobsDue = "jobs";

/**
 * Wakes the relays when what staged jobs is committed, in a transaction of its own. The signal may be lost, so relays also
 * look for themselves.
 */
const wakeRelays = coalesced(() =>
  sql`select from pg_notify('signals', ${jobsDue})`.catch((error: unknown) =>
    log.debug({ error: describeError(error) }, "the relays were not woken"),
  ),
);

/** A connection that serves one transaction at a time, apart from the shared ones. */
interface Session {
  readonly connection: Connection;
  /** For begin, commit and rollback. */
  readonly command: Db;
  /** Ends the transaction that the session serves just now. */
  interrupt(error: DatabaseError): void;
  /** Whether that transaction has staged jobs. */
  staged: boolean;
}

const nothing = () => undefined;
const idle = new Set<Session>();
const waiting = new Set<() => void>();
let transactions = 0;

function openSession(): Session {
  const onLost = (error: DatabaseError) => {
    idle.delete(session);
    session.interrupt(error);
  };
  const onStaged = () => {
    session.staged = true;
  };
  const connection = openConnection("transactions", { onLost, onStaged });
  const command = tag((statement) => connection.run(statement));
  const session: Session = { connection, command, interrupt: nothing, staged: false };
  return session;
}

function takeIdle(): Session | undefined {
  const [session] = idle;
  if (session) idle.delete(session);
  return session;
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
    return await runIn(takeIdle() ?? openSession(), work);
  } finally {
    givePlace();
  }
}

async function runIn<T>(session: Session, work: (tx: Db) => Promise<T>): Promise<T> {
  let ended = false;
  const { connection, command } = session;
  const tx = tag((statement) => {
    if (ended) statement.reject(new Error("the transaction of this statement is over"));
    else connection.run(statement);
  });
  try {
    await command`begin`;
    const result = await new Promise<T>((resolve, reject) => {
      session.interrupt = reject;
      work(tx).then(resolve, reject);
    });
    ended = true;
    const { command: outcome } = await command`commit`;
    if (outcome !== "COMMIT")
      throw new DatabaseError("a statement of the transaction failed, so nothing of it was kept", "25P02");
    if (session.staged) wakeRelays();
    idle.add(session);
    return result;
  } catch (error) {
    ended = true;
    // without an answer the connection is lost, and the transaction with it
    await command`rollback`.then(() => idle.add(session), nothing);
    throw error;
  } finally {
    session.interrupt = nothing;
    session.staged = false;
  }
}

/** Statements and transactions that are under way, and transactions that wait for their turn. */
export function databaseStats(): {
  statements: { running: number };
  transactions: { running: number; waiting: number };
} {
  const running = [...statements.connections, ...quick.connections, ...waiters.connections].reduce(
    (sum, connection) => sum + connection.running,
    0,
  );
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
  await Promise.allSettled(places);
  await Promise.all(
    [
      ...statements.connections,
      ...quick.connections,
      ...waiters.connections,
      ...[...idle].map(({ connection }) => connection),
    ].map((connection) => connection.close()),
  );
}
