import { openConnection, type Connection } from "./connection.js";
import { connectionLost } from "./errors.js";
import { tag, type Rows, type Run, type Statement } from "./tag.js";

export interface PoolLimits {
  connections: number;
  /** How long the server gives each statement, when that is not `DATABASE_TIMEOUT_MS`. */
  timeoutMs?: number;
}

/** Behind a statement that takes long everything waits, however little it is. */
const isFreer = (one: Connection, other: Connection): boolean =>
  one.stalled === other.stalled ? one.running < other.running : other.stalled;

/**
 * Connections that the single statements of one purpose share, each with many of them on its way at once. Calls `onStaged`
 * when a statement that staged jobs is committed, and maybe for one that was on its way beside it.
 */
export function openPool(purpose: string, { connections: most, ...options }: PoolLimits, onStaged?: () => void) {
  const connections = new Set<Connection>();
  let stopping = false;

  /** A connection with nothing to do, else a new one while there may be more, else the one with the least to do that gets on. */
  function leastBusy(): Connection {
    let best: Connection | undefined;
    for (const connection of connections) {
      if (connection.lost) connections.delete(connection);
      else if (connection.running === 0) return connection;
      else if (!best || isFreer(connection, best)) best = connection;
    }
    if (best && connections.size >= most) return best;
    const connection = openConnection(purpose, options);
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
    /** Statements sent and not yet settled. */
    running: () => [...connections].reduce((sum, { running }) => sum + running, 0),
    /** Refuses statements from now on. */
    stop: () => void (stopping = true),
    /** Disconnects when what runs is done. */
    close: () => Promise.all([...connections].map((connection) => connection.close())),
  };
}
