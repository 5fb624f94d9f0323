import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "../../scripts/embedded-postgres.js";
import { serverFolder } from "./server-folder.js";
import { until } from "./until.js";

/** A server of one test file's own, for what would disturb the others. */
export interface OwnPostgres {
  url: string;
  /** Asks the server past the code under test; waits while it recovers. */
  ask: <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>;
  /** Ends the whole server at once, as a machine's memory killer does. */
  kill(): Promise<void>;
  /** Starts it again at the same address; it recovers what was committed. */
  restart(): Promise<void>;
  stop: () => Promise<void>;
}

/** The server is away, going or coming back; anything else is a mistake in the question. */
const isAway = (error: unknown) => !(error instanceof pg.DatabaseError) || /^(57|08|53)/.test(error.code ?? "");

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

/** Starts it, empty. Its `url` has to be in `process.env.DATABASE_URL` before anything that reads the configuration is imported. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const { folder, remove } = await serverFolder();
  const { url } = await startEmbeddedPostgres({ folder, durable: false });
  const port = Number(new URL(url).port);
  return {
    url,
    ask<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) {
      const askAgain = (error: unknown) => {
        if (!isAway(error)) throw error;
        return undefined;
      };
      return until(() => askOnce<Row>(url, text, values).catch(askAgain));
    },
    async kill() {
      const [pid] = (await readFile(join(folder, "data", "postmaster.pid"), "utf8")).split("\n");
      process.kill(Number(pid), "SIGKILL");
    },
    async restart() {
      // what is left of the old server takes a moment to notice
      await until(() => startEmbeddedPostgres({ folder, durable: false, port }).catch(() => undefined));
    },
    stop: remove,
  };
}
