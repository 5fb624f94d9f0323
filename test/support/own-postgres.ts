import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "../../scripts/embedded-postgres.js";
import { freezeAll } from "./freeze.js";
import { serverFolder } from "./server-folder.js";
import { copyAsStandby } from "./standby.js";
import { until } from "./until.js";

/** A running server. */
export interface RunningPostgres {
  /** Its address, which is another after `failOver`. */
  readonly url: string;
  /** Queries the server directly, not through the code under test; retries while it recovers. */
  ask: <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>;
  /** Kills the whole server, as the kernel does when memory runs out. */
  kill(): Promise<void>;
  /** Suspends all its processes; the returned function lets them continue. */
  freeze(): Promise<() => void>;
  /** Restarts it at the same address; it recovers everything committed. */
  restart(): Promise<void>;
  stop: () => Promise<void>;
}

/** A separate server for a test file that would disturb others. */
export interface OwnPostgres extends RunningPostgres {
  /**
   * Gives the server a standby that has every commit before it is acknowledged, calls `lead`, kills the server, and promotes
   * the standby when `follow`, which gets its address, resolves.
   */
  failOver(lead: () => Promise<void>, follow: (url: string) => Promise<void>): Promise<void>;
  /** Starts a replica that follows the server as fast as it can. */
  replicate(): Promise<RunningPostgres>;
}

/** Whether the error means that the server is down, stopping, starting or a standby; any other is a mistake in the query. */
const isAway = (error: unknown) => !(error instanceof pg.DatabaseError) || /^(57|08|53|25006)/.test(error.code ?? "");

async function askOnce<Row extends pg.QueryResultRow>(url: string, text: string, values: unknown[]): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Queries a server directly, not through the code under test; retries while it recovers or is a standby. */
export function askUntil<Row extends pg.QueryResultRow>(
  url: string | (() => string),
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const askAgain = (error: unknown) => {
    if (!isAway(error)) throw error;
    return undefined;
  };
  return until(() => askOnce<Row>(typeof url === "string" ? url : url(), text, values).catch(askAgain));
}

interface Server {
  folder: string;
  url: string;
  remove: () => Promise<void>;
}

async function start({ folder, remove }: Omit<Server, "url">): Promise<Server> {
  return { folder, remove, url: (await startEmbeddedPostgres({ folder, durable: false })).url };
}

/** What a test does with a server, which may become another one. */
function control(current: () => Server): RunningPostgres {
  const mainProcess = async () => {
    // a server that starts again writes it anew
    const file = join(current().folder, "data", "postmaster.pid");
    const [pid] = (await until(() => readFile(file, "utf8").catch(() => undefined))).split("\n");
    return Number(pid);
  };
  return {
    get url() {
      return current().url;
    },
    ask: <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      askUntil<Row>(() => current().url, text, values),
    kill: async () => void process.kill(await mainProcess(), "SIGKILL"),
    freeze: async () => freezeAll(await mainProcess()),
    async restart() {
      const { folder, url } = current();
      // the old server's processes take a moment to end
      const port = Number(new URL(url).port);
      await until(() => startEmbeddedPostgres({ folder, durable: false, port }).catch(() => undefined));
    },
    stop: () => current().remove(),
  };
}

async function startStandby(of: Server): Promise<Server> {
  const place = await serverFolder();
  await copyAsStandby(of, place.folder);
  return start(place);
}

/** Starts an empty server. Set `process.env.DATABASE_URL` to its `url` before importing anything that reads the configuration. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  let server = await start(await serverFolder());
  // without them a server that was killed may not recover
  await askOnce(server.url, "alter system set full_page_writes = on", []);
  await askOnce(server.url, "select pg_reload_conf()", []);
  const controls = control(() => server);
  const { ask } = controls;
  return Object.assign(controls, {
    async failOver(lead: () => Promise<void>, follow: (url: string) => Promise<void>) {
      const old = server;
      const standby = await startStandby(old);
      await ask("alter system set synchronous_standby_names = '*'");
      await ask("select pg_reload_conf()");
      await until(async () => (await ask("select from pg_stat_replication where sync_state = 'sync'")).length > 0);
      await lead();
      await controls.kill();
      server = standby;
      await follow(standby.url);
      await ask("select pg_promote()");
      await old.remove();
    },
    async replicate() {
      const replica = await startStandby(server);
      return control(() => replica);
    },
  });
}
