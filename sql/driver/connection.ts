import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { isNativeError } from "node:util/types";
import postgres from "postgres";
import { config } from "../../lib/process/config.js";
import { connectionLost, type DatabaseError } from "./errors.js";
import { types } from "./types.js";

/** How long the server gives a statement before we do: its own timeout tells more about what happened. */
const CLIENT_GRACE_MS = 1_000;
/** A statement that takes longer waits for a lock or reads much; ordinary ones take a millisecond. */
const LONG_MS = 50;
/** The SQLSTATE of the notice that sql/functions/outbox.sql raises when a job is due. */
const STAGED = "STAGE";

/** A statement as postgres.js hands it to a connection: whoever carries it out calls one of these. */
export interface Statement {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** One session with the server, from its first statement to its end. It never becomes another session. */
export interface Connection {
  /** Sends a statement behind those that are on their way; settles it without fail, and within its time. */
  run(statement: Statement): void;
  /** Statements sent and not yet settled. */
  readonly running: number;
  /** Whether the statement that is being carried out, if any, takes long: those behind it wait as long. */
  readonly stalled: boolean;
  /** Says goodbye to the server when what runs is done, or hangs up after a while. */
  close(): Promise<void>;
}

export interface ConnectionEvents {
  /** Called once, when the session is over; everything that ran has been rejected. */
  onLost: (error: DatabaseError) => void;
  onNotification?: (channel: string, payload: string) => void;
  /** Called when a statement has succeeded that staged jobs: outside a transaction it is committed by then. */
  onStaged?: () => void;
}

/** What postgres.js gives its socket factory. */
interface Address {
  host: string[];
  port: number[];
  path: string | false | undefined;
}

/** The settings of a session. Nothing is read from the server to find out about types: `types` names those in use. */
const options = (purpose: string) => ({
  max: 1,
  fetch_types: false,
  idle_timeout: 0,
  max_lifetime: null,
  types,
  connection: {
    application_name: `surplus-food ${purpose}`,
    client_min_messages: "notice",
    TimeZone: "UTC",
    statement_timeout: config.DATABASE_TIMEOUT_MS,
    idle_in_transaction_session_timeout: config.DATABASE_TIMEOUT_MS,
  },
});

function handlerOf(client: postgres.Sql): (statement: Statement) => void {
  const handler: unknown = Reflect.get(client`select`, "handler");
  if (typeof handler !== "function") throw new Error("this version of postgres.js keeps its handler elsewhere");
  return (statement) => void Reflect.apply(handler, undefined, [statement]);
}

const fromServer = (error: unknown) => error instanceof postgres.PostgresError;

/**
 * Opens a session when it gets its first statement; the server's list of sessions shows its `purpose`. It is a client of postgres.js with one connection that cannot
 * reconnect: that library would run the rest of a transaction on its new connection, keeps unsent bytes for it, and loses
 * statements that were queued. A session that does not answer in time, or whose order of answers is in doubt, is ended.
 */
export function openConnection(purpose: string, { onLost, onNotification, onStaged }: ConnectionEvents): Connection {
  const running = new Set<Statement>();
  let socket: Socket | undefined;
  let lost: DatabaseError | undefined;
  /** When the statement that is being carried out had its turn, by the monotonic clock. */
  let turn = 0;
  /** Whether the statement that is being carried out has staged jobs. */
  let staged = false;

  function lose(error: DatabaseError): void {
    if (lost) return;
    lost = error;
    socket?.destroy();
    for (const statement of running) statement.reject(error);
    onLost(error);
  }

  /** Gives out the one socket of this session; the second request is the library trying to reconnect. */
  async function openSocket({ host, port, path }: Address): Promise<Socket> {
    if (socket ?? lost) {
      lose(connectionLost("it was closed"));
      throw connectionLost("it was closed");
    }
    socket = path ? connect(path) : connect(port[0] ?? 0, host[0]);
    socket.setNoDelay(true);
    try {
      await once(socket, "connect");
    } catch (error) {
      lose(connectionLost(isNativeError(error) ? error.message : String(error)));
      throw error;
    }
    // the name that a certificate is checked against
    return Object.assign(socket, { host: host[0] });
  }

  const given = {
    ...options(purpose),
    socket: openSocket,
    onclose: () => lose(connectionLost("the server closed it")),
    onnotice: ({ code }: postgres.Notice) => {
      if (code === STAGED) staged = true;
    },
    onnotify: (channel: string, payload: string) => onNotification?.(channel, payload),
  };
  const client = postgres(config.DATABASE_URL, given);
  const handle = handlerOf(client);

  return {
    get running() {
      return running.size;
    },
    get stalled() {
      return running.size > 0 && performance.now() - turn > LONG_MS;
    },
    run(statement) {
      const { resolve, reject } = statement;
      if (lost) {
        reject(lost);
        return;
      }
      const timer = setTimeout(
        () => lose(connectionLost("it did not answer in time")),
        config.DATABASE_TIMEOUT_MS + CLIENT_GRACE_MS,
      );
      const settle = () => {
        clearTimeout(timer);
        running.delete(statement);
        turn = performance.now();
      };
      statement.resolve = (result) => {
        settle();
        resolve(result);
        if (staged) onStaged?.();
        staged = false;
      };
      statement.reject = (error) => {
        settle();
        staged = false;
        if (fromServer(error)) {
          reject(error);
          return;
        }
        const broken = isNativeError(error) && "errno" in error;
        const reason = connectionLost(broken ? error.message : "a statement before failed in this process");
        reject(broken ? reason : error);
        // statements and answers may no longer match
        lose(reason);
      };
      if (running.size === 0) turn = performance.now();
      running.add(statement);
      handle(statement);
    },
    close: () => (lost ? Promise.resolve() : client.end({ timeout: 5 })),
  };
}
