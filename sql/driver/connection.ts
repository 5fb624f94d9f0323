import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { isNativeError } from "node:util/types";
import postgres from "postgres";
import { config } from "../../lib/process/config.js";
import { isUntold, ROLE, type Role } from "../../lib/process/find-primary.js";
import { directPrimary, primary } from "../../lib/process/primary.js";
import type { ServerAddress } from "../../lib/process/server-address.js";
import { connectionLost, type DatabaseError } from "./errors.js";
import { sessionSettings } from "./session-settings.js";
import type { Rows, Run, Statement } from "./tag.js";
import { types } from "./types.js";

/** How much longer than the server's timeout this process waits: the server's error says more. */
const CLIENT_GRACE_MS = 1_000;
/** A statement that runs longer waits for a lock or reads much; ordinary statements take a millisecond. */
const LONG_MS = 50;
/** The SQLSTATE of the notice that sql/functions/outbox.sql raises when a job is due. */
const STAGED = "STAGE";

/** One session with the server, from its first statement to its end. It never becomes another session. */
export interface Connection {
  /** Sends a statement after those in flight; always settles, within the timeout once it is the running one. */
  run: Run;
  /** Settles as `work` does, or rejects when the session ends first. */
  whileOpen<T>(work: PromiseLike<T>): Promise<T>;
  /** Statements sent and not yet settled. */
  readonly running: number;
  /** Whether the running statement takes long: those behind it wait for it. */
  readonly stalled: boolean;
  /** When the running statement started, by the monotonic clock. */
  readonly startedAt: number;
  /** How many notices of staged jobs came in so far; a statement's notice is counted before the statement settles. */
  readonly staged: number;
  /** Whether the session has ended. */
  readonly lost: boolean;
  /** Disconnects when the running statements have ended, or after 5 s. */
  close(): Promise<void>;
}

export interface ConnectionOptions {
  /** A replica; the primary, if none is given. */
  server?: ServerAddress | undefined;
  /** The server's timeout for each statement. */
  timeoutMs?: number;
  /** Whether a statement is planned once, for any parameters, and finds its rows by key only. */
  plansByKey?: boolean;
  /** Whether statements depend on those before them beyond the end of a transaction, so that no pooler may be between. */
  direct?: boolean;
  onNotification?: (channel: string, payload: string) => void;
}

/** What postgres.js gives its socket factory. */
interface Address {
  host: string[];
  port: number[];
  path: string | false | undefined;
}

/** Whether the server could not be reached over TLS: its certificate was refused, or the two do not understand each other. */
const isTlsFailure = (error: Error) =>
  "code" in error &&
  /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_|SELF_SIGNED_|UNABLE_TO_|INVALID_CA|INVALID_PURPOSE)/.test(String(error.code));

/** The SQLSTATE of a write that a standby refuses: the next session may reach the primary. */
const READ_ONLY = "25006";
/** What a server reports of itself when a session begins, and before the answer after a change. */
const READ_ONLY_PARAMETERS = ["in_hot_standby", "default_transaction_read_only"];
/** Where the server warns that a commit was not confirmed by its standby, as an operator has ended the wait for it. */
const UNCONFIRMED = "SyncRepWaitForLSN";

/**
 * Closes the gap at the beginning of a result, which postgres.js leaves for the rows of a statement that failed while it sent
 * rows, just before this one (its issue 1181).
 */
function closeGap<T extends Rows>(rows: postgres.RowList<T>): postgres.RowList<T> {
  if (rows.length > 0 && !(0 in rows))
    Reflect.apply(Array.prototype.splice, rows, [0, rows.length - Object.keys(rows).length]);
  return rows;
}

const messageOf = (error: unknown) => (isNativeError(error) ? error.message : String(error));

/**
 * Opens a session with the primary when it gets its first statement; the server's list of sessions shows its `purpose`. It is a client of
 * postgres.js with one connection that cannot reconnect (README.md says why). A session is ended when it does not respond in
 * time, when responses may no longer match statements, or when its server is not the primary.
 */
export function openConnection(
  purpose: string,
  {
    server: replica,
    timeoutMs = config.DATABASE_TIMEOUT_MS,
    plansByKey = false,
    direct = false,
    onNotification,
  }: ConnectionOptions = {},
): Connection {
  const way = direct ? directPrimary : primary;
  // a replica may have a pooler too; without one, its sessions begin with the settings of the role
  const pooled = config.POOLED && !direct;
  /** Through a pooler, a timeout that is not every session's is set in a transaction. */
  const ownTimeout = pooled && timeoutMs !== config.DATABASE_TIMEOUT_MS;
  /** The rejections of what waits for the session. */
  const dependants = new Set<(error: DatabaseError) => void>();
  let socket: Socket | undefined;
  /** Takes this session from those that are given up when another server becomes the primary. */
  let forget: (() => void) | undefined;
  let lost: DatabaseError | undefined;
  let running = 0;
  let staged = 0;
  /** Statements that the library was given, and those that it has built to send them. */
  let given = 0;
  let built = 0;
  /** When the running statement started, by the monotonic clock. */
  let startedAt = 0;
  /** Ends the session when the running statement does not. */
  let timer: NodeJS.Timeout | undefined;

  function checkRunning(): void {
    if (running > 0) lose("it did not answer in time");
  }

  /** Statements in flight run one after the other; each has the whole timeout. */
  function startRunning(): void {
    startedAt = performance.now();
    timer = timer?.refresh() ?? setTimeout(checkRunning, timeoutMs + CLIENT_GRACE_MS).unref();
  }

  function lose(reason: string): DatabaseError {
    if (lost) return lost;
    lost = connectionLost(reason);
    socket?.destroy();
    forget?.();
    if (!replica) way.doubt();
    for (const reject of dependants) reject(lost);
    return lost;
  }

  /** Opens the session's only socket; a second call means that the library tries to reconnect. */
  async function openSocket({ host, port, path }: Address): Promise<Socket> {
    if (socket ?? lost) {
      lose("it was closed");
      throw new Error("a session is never opened again");
    }
    socket = path ? connect(path) : connect(port[0] ?? 0, host[0]);
    socket.setNoDelay(true);
    try {
      await once(socket, "connect");
    } catch (error) {
      lose(messageOf(error));
      throw error;
    }
    // the name that the certificate must match
    return Object.assign(socket, { host: host[0] });
  }

  // fetch_types: `types` has all types in use, so the library need not read them from the server
  // transform: rows have the columns' names in camelCase
  const options = {
    max: 1,
    fetch_types: false,
    transform: { column: postgres.toCamel },
    idle_timeout: 0,
    max_lifetime: null,
    types,
    prepare: direct || config.DATABASE_PREPARE,
    connection: {
      application_name: `surplus-food ${purpose}`,
      TimeZone: "UTC",
      ...(!pooled && {
        ...sessionSettings,
        statement_timeout: timeoutMs,
        // a plan that was made while the tables were small would go on to read them whole
        ...(plansByKey && { plan_cache_mode: "force_generic_plan", enable_seqscan: "off" }),
      }),
    },
    socket: openSocket,
    onclose: () => lose("the server closed it"),
    onparameter: (name: string, value: unknown) => {
      // a pooler goes on to report what a standby said before it was promoted
      if (!replica && !pooled && value === "on" && READ_ONLY_PARAMETERS.includes(name)) lose("the server is read-only");
    },
    onnotice: ({ code, routine }: postgres.Notice) => {
      if (code === STAGED) staged += 1;
      if (routine === UNCONFIRMED) lose("the standby did not confirm a commit");
    },
    onnotify: (channel: string, payload: string) => onNotification?.(channel, payload),
  };
  const clientOf = ({ url, tls }: ServerAddress) => postgres(url, { ...options, ssl: tls });
  type Client = ReturnType<typeof clientOf>;
  /** Undefined until its server is known to be the primary: no statement is sent before. */
  let client: Client | undefined;
  let opening: Promise<Client> | undefined;

  /**
   * Ends the session when the library sends a statement once more, since the server has to prepare it again: its statements in
   * flight would get each other's responses. Set here, because as an option it would cost a stack trace for each statement.
   */
  function watch(opened: Client): Client {
    opened.options.debug = () => {
      built += 1;
      if (built > given) lose("a statement had to be prepared again");
    };
    return opened;
  }

  /** Opens the session, unless its server is not the primary where it should be. */
  async function open(): Promise<Client> {
    if (replica) return (client = watch(clientOf(replica)));
    const server = await way.find().catch((error: unknown) => {
      throw lose(messageOf(error));
    });
    if (lost) throw lost;
    const opened = clientOf(server);
    const [role] = await whileOpen(opened.unsafe<Role[]>(ROLE)).catch((error: unknown) => {
      if (isUntold(error)) return [];
      throw error;
    });
    if (role) forget = way.add(role, server, () => lose("another server is the primary now"));
    if (role && !forget) throw lose("the server is not the primary");
    return (client = watch(opened));
  }

  function sendAlone<T extends Rows>(opened: Client, ...[template, parameters]: Statement) {
    given += 1;
    return opened<T>(template, ...parameters);
  }

  /** Sends a statement with its timeout, in one packet. */
  async function sendWithTimeout<T extends Rows>(
    opened: Client,
    ...[template, parameters]: Statement
  ): Promise<postgres.RowList<T>> {
    given += 3;
    const sent = [
      opened.unsafe(`begin; set local statement_timeout = ${timeoutMs}`).execute(),
      opened<T>(template, ...parameters).execute(),
      opened`commit`.execute(),
    ] as const;
    await Promise.allSettled(sent);
    await sent[0];
    return sent[1];
  }

  const whileOpen = <T>(work: PromiseLike<T>) =>
    new Promise<T>((resolve, reject) => {
      dependants.add(reject);
      void work.then(resolve, reject).then(() => dependants.delete(reject));
    });

  return {
    async run<T extends Rows>(...statement: Statement) {
      if (lost) throw lost;
      if (running === 0) startRunning();
      running += 1;
      try {
        const opened = client ?? (await whileOpen((opening ??= open())));
        const send = ownTimeout ? sendWithTimeout<T> : sendAlone<T>;
        return closeGap(await whileOpen(send(opened, ...statement)));
      } catch (error) {
        if (error instanceof postgres.PostgresError) {
          if (error.code === READ_ONLY) lose("the server is read-only");
          else if (!client) lose(error.message);
        } else if (error !== lost) {
          const broken = isNativeError(error) && ("errno" in error || isTlsFailure(error));
          // responses may no longer match statements
          const reason = lose(broken ? error.message : "a statement before failed in this process");
          if (broken) throw reason;
        }
        throw error;
      } finally {
        running -= 1;
        if (running > 0) startRunning();
      }
    },
    whileOpen,
    get running() {
      return running;
    },
    get stalled() {
      return running > 0 && performance.now() - startedAt > LONG_MS;
    },
    get startedAt() {
      return startedAt;
    },
    get staged() {
      return staged;
    },
    get lost() {
      return lost !== undefined;
    },
    close: async () => {
      if (opening && !client) await whileOpen(opening).catch(() => undefined);
      forget?.();
      if (!lost) await client?.end({ timeout: 5 });
    },
  };
}
