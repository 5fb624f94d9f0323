import { config } from "../../lib/process/config.js";
import type { ServerAddress } from "../../lib/process/server-address.js";
import { openConnection, type Connection } from "./connection.js";
import { connectionLost } from "./errors.js";
import { tag, type Rows, type Run, type Statement } from "./tag.js";

export interface PoolLimits {
  connections: number;
  /** A replica; the primary, if none is given. */
  server?: ServerAddress;
  /** The server's timeout for each statement. */
  timeoutMs?: number;
  /** Whether a statement is planned once, for any parameters, and finds its rows by key only. */
  plansByKey?: boolean;
}

/**
 * A stalled connection comes last: everything behind its statement waits. When all are, as on a busy machine, the one whose
 * statement started last is the least likely to wait for a lock.
 */
const isFreer = (one: Connection, other: Connection): boolean => {
  if (one.stalled !== other.stalled) return other.stalled;
  return one.stalled ? one.startedAt > other.startedAt : one.running < other.running;
};

/**
 * Opens a pool of connections for the single statements of one purpose; each connection has many statements in flight. Calls
 * `onStaged` after the commit of a statement that staged jobs, and sometimes for one that was in flight with it.
 */
export function openPool(
  purpose: string,
  { connections: max, server, timeoutMs = config.DATABASE_TIMEOUT_MS, plansByKey = false }: PoolLimits,
  onStaged?: () => void,
) {
  const connections = new Set<Connection>();
  let stopping = false;

  /** Returns an idle connection, else a new one if the limit allows it, else the one with the fewest statements that is not stalled. */
  function leastBusy(): Connection {
    let best: Connection | undefined;
    for (const connection of connections) {
      if (connection.lost) connections.delete(connection);
      else if (connection.running === 0) return connection;
      else if (!best || isFreer(connection, best)) best = connection;
    }
    if (best && connections.size >= max) return best;
    const connection = openConnection(purpose, { server, timeoutMs, plansByKey });
    connections.add(connection);
    return connection;
  }

  const run: Run = async <T extends Rows>(...statement: Statement) => {
    if (stopping) throw connectionLost("this process is stopping");
    const connection = leastBusy();
    const before = connection.staged;
    const rows = await connection.run<T>(...statement);
    if (connection.staged > before) onStaged?.();
    return rows;
  };

  return {
    db: tag(run),
    run,
    /** Statements sent and not yet settled. */
    running: () => [...connections].reduce((sum, { running }) => sum + running, 0),
    /** Refuses statements from now on. */
    stop: () => void (stopping = true),
    /** Disconnects when running statements have ended. */
    close: () => Promise.all([...connections].map((connection) => connection.close())),
  };
}
