import { setTimeout as delay } from "node:timers/promises";
import { isNativeError } from "node:util/types";
import pg from "pg";
import { pgOptions, readDatabaseUrl, readServers, splitServers, type ServerAddress } from "./server-address.js";

/** How long a server may take to say what it is: one that is stopped takes connections and never answers. */
const ANSWER_MS = 2_000;
/** How often each server is asked whether it was promoted. */
const WATCH_MS = 1_000;
/** Every request would begin the next search. */
const PAUSE_MS = 250;

/** What a server says it is. A promotion begins the next timeline of its system, which is shared by all copies of a server. */
export interface Role {
  readonly system: string;
  /** Null for a standby, and a server that is read-only. */
  readonly timeline: number | null;
}

/** Selects the server's Role. */
export const ROLE = `
  select system_identifier::text as system,
    case when not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'
      then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
    end as timeline
  from pg_control_system()`;

/** Servers that share only Postgres's protocol may not tell: such a function is unsupported, forbidden or missing there. */
const UNTOLD = ["0A000", "42501", "42883"];
export const isUntold = (error: unknown): boolean =>
  isNativeError(error) && "code" in error && UNTOLD.includes(String(error.code));

interface Primary extends Role {
  readonly timeline: number;
}

const isPrimary = (role: Role): role is Primary => role.timeline !== null;
const isOlder = (one: Primary, other: Primary) => one.system === other.system && one.timeline < other.timeline;

const nameOf = ({ url }: ServerAddress) => new URL(url).host;

/** Asks one server for its role, on a connection that it keeps until it is closed or the server does not answer. */
function openProbe(server: ServerAddress) {
  let client: pg.Client | undefined;
  const close = (): void => {
    // a server that is stopped would not hear of an orderly end
    client?.connection.stream.destroy();
    client = undefined;
  };
  const open = async (): Promise<pg.Client> => {
    const limits = { connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS };
    const opened = new pg.Client({ ...pgOptions(server), ...limits, application_name: "surplus-food primary" });
    opened.on("error", close);
    await opened.connect();
    return opened;
  };
  return {
    close,
    async ask(): Promise<Role> {
      try {
        client ??= await open();
        const [role] = (await client.query<Role>(ROLE)).rows;
        if (role === undefined) throw new Error("the server answered without a row");
        return role;
      } catch (error) {
        close();
        throw error;
      }
    },
  };
}

async function askOnce(server: ServerAddress): Promise<Role> {
  const probe = openProbe(server);
  try {
    return await probe.ask();
  } finally {
    probe.close();
  }
}

/** A server of an address, and what it says it is or why it does not. */
export interface Answer {
  readonly name: string;
  readonly server: ServerAddress;
  readonly role?: Role;
  readonly error?: unknown;
}

const answerOf = async (server: ServerAddress): Promise<Answer> => {
  const name = nameOf(server);
  try {
    return { name, server, role: await askOnce(server) };
  } catch (error) {
    return { name, server, error };
  }
};

/** Asks each server of DATABASE_URL for its role. */
export const askServers = (databaseUrl: string): Promise<Answer[]> =>
  Promise.all(readServers(databaseUrl).map(answerOf));

/** Says in words what a server answered. */
export function describeAnswer({ name, role, error }: Answer): string {
  if (role === undefined) return `${name} cannot be used (${error instanceof Error ? error.message : String(error)})`;
  return `${name} is ${isPrimary(role) ? `a primary, timeline ${role.timeline}` : "a standby, or read-only"}`;
}

/** Returns the primary of these servers. Of two, as when the old one came back, it is the one that was promoted last. */
export function choosePrimary(answers: readonly Answer[]): { server: ServerAddress; role: Primary } {
  const primaries = answers.flatMap(({ server, role }) => (role && isPrimary(role) ? [{ server, role }] : []));
  const described = answers.map(describeAnswer).join("; ");
  if (new Set(primaries.map(({ role }) => role.system)).size > 1)
    throw new Error(`these servers are not copies of one: ${described}`);
  const [best] = primaries.toSorted((one, other) => other.role.timeline - one.role.timeline);
  if (best === undefined) throw new Error(`no server is the primary: ${described}`);
  return best;
}

/** Returns the address of the primary in DATABASE_URL; one server is not asked. */
export async function findPrimary(databaseUrl: string): Promise<string> {
  const addresses = splitServers(databaseUrl);
  const [only] = addresses;
  if (addresses.length === 1 && only !== undefined) return only;
  const answers = await askServers(databaseUrl);
  const { server } = choosePrimary(answers);
  return addresses[answers.findIndex((answer) => answer.server === server)] ?? databaseUrl;
}

interface Session {
  readonly role: Primary;
  readonly giveUp: () => void;
}

/** An address by which a process opens sessions with the primary. */
export interface Way {
  /** The last known primary, else the first server. */
  current(): ServerAddress;
  /** Finds the server to open a session with. One server is not asked: the session shows what it is. */
  find(): Promise<ServerAddress>;
  /** Lets the next session find the server anew, as one was lost. */
  doubt(): void;
  /**
   * Adds a session that was opened with `server`, and returns what removes it. Undefined when that is not the primary: the
   * caller closes the session.
   */
  add(role: Role, server: ServerAddress, giveUp: () => void): (() => void) | undefined;
}

/**
 * Keeps the sessions of a process with the primary, to which several addresses may lead: past a pooler, and through it. When it
 * learns of a later primary, it calls `moved` and ends the sessions with any other. It learns so from each new session, and
 * while sessions are open from asking each server of an address that has several. Returns what adds an address.
 */
export function followPrimary(moved: (server: string) => void): (databaseUrl: string) => Way {
  const ways: { doubt: () => void; watch: (signal: AbortSignal) => void }[] = [];
  const sessions = new Set<Session>();
  let latest: Primary | undefined;
  let watching: AbortController | undefined;

  /** Adds a session; returns what removes it. The servers are watched as long as there is one. */
  function addSession(session: Session): () => void {
    sessions.add(session);
    if (!watching) {
      watching = new AbortController();
      for (const way of ways) way.watch(watching.signal);
    }
    return () => {
      sessions.delete(session);
      if (sessions.size > 0) return;
      watching?.abort();
      watching = undefined;
    };
  }

  return (databaseUrl) => {
    const servers = readServers(databaseUrl);
    let current = readDatabaseUrl(databaseUrl);
    /** Where the next session goes; undefined when that is in doubt. */
    let known = servers.length === 1 ? current : undefined;
    let search: Promise<ServerAddress> | undefined;

    function doubt(): void {
      if (servers.length > 1) known = undefined;
    }

    /** Notes which server is a primary; false when a later one is known. */
    function note(role: Primary, server: ServerAddress): boolean {
      if (latest && isOlder(role, latest)) return false;
      current = server;
      if (latest?.system === role.system && latest.timeline === role.timeline) return true;
      const isFirst = latest === undefined;
      latest = role;
      for (const way of ways) way.doubt();
      known = server;
      if (!isFirst) moved(nameOf(server));
      for (const { role: other, giveUp } of [...sessions])
        if (other.system !== role.system || other.timeline !== role.timeline) giveUp();
      return true;
    }

    async function searchServers(): Promise<ServerAddress> {
      const asked = servers.map(answerOf);
      // an answer of the latest primary is enough: another server may be stopped, and answer late
      const latestOnes = asked.map(async (answer) => {
        const { server, role } = await answer;
        if (role && isPrimary(role) && latest?.system === role.system && !isOlder(role, latest))
          return { server, role };
        throw new Error("it is not known to be the latest");
      });
      const found = await Promise.any(latestOnes).catch(async () => choosePrimary(await Promise.all(asked)));
      if (!note(found.role, found.server)) throw new Error(`${nameOf(found.server)} is an old primary`);
      known = found.server;
      return known;
    }

    async function watchServer(server: ServerAddress, signal: AbortSignal): Promise<void> {
      const probe = openProbe(server);
      signal.addEventListener("abort", probe.close);
      while (!signal.aborted) {
        const role = await probe.ask().catch(() => undefined);
        if (role && isPrimary(role) && role.system === latest?.system) note(role, server);
        await delay(WATCH_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
      probe.close();
    }

    ways.push({
      doubt,
      watch: (signal) => {
        if (servers.length > 1) for (const server of servers) void watchServer(server, signal);
      },
    });

    return {
      current: () => current,
      find() {
        if (known) return Promise.resolve(known);
        if (search) return search;
        const begun = searchServers();
        search = begun;
        const end = () => (search = undefined);
        begun.then(end, () => delay(PAUSE_MS, undefined, { ref: false }).then(end));
        return begun;
      },
      doubt,
      add: (role, server, giveUp) => (isPrimary(role) && note(role, server) ? addSession({ role, giveUp }) : undefined),
    };
  };
}
