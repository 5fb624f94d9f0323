import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "../../scripts/embedded-postgres.js";
import { until } from "./until.js";

/** A server of one test file's own, for what would disturb the others. */
export interface OwnPostgres {
  url: string;
  /** Asks the server past the code under test; waits while it recovers. */
  ask<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  stop(): Promise<void>;
}

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
  const folder = await mkdtemp(join(tmpdir(), "surplus-food-own-"));
  const { url, stop } = await startEmbeddedPostgres({ folder, durable: false });
  return {
    url,
    ask<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) {
      return until(() => askOnce<Row>(url, text, values).catch(() => undefined));
    },
    async stop() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
