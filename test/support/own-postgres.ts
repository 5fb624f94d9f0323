import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "../../scripts/embedded-postgres.js";
import { serverFolder } from "./server-folder.js";
import { until } from "./until.js";

/** A separate server for a test file that would disturb others. */
export interface OwnPostgres {
  url: string;
  /** Queries the server directly, not through the code under test; retries while it recovers. */
  ask: <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>;
  /** Kills the whole server, as the kernel does when memory runs out. */
  kill(): Promise<void>;
  /** Restarts it at the same address; it recovers everything committed. */
  restart(): Promise<void>;
  stop: () => Promise<void>;
}

/** Whether the error means that the server is down, stopping or starting; any other is a mistake in the query. */
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

/** Starts an empty server. Set `process.env.DATABASE_URL` to its `url` before importing anything that reads the configuration. */
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
      // the old server's processes take a moment to end
      await until(() => startEmbeddedPostgres({ folder, durable: false, port }).catch(() => undefined));
    },
    stop: remove,
  };
}
