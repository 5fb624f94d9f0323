import postgres from "postgres";
import { config } from "../lib/config.js";

const client = postgres(config.DATABASE_URL, { max: config.DATABASE_POOL, onnotice: () => undefined });

/** What every query function takes first: `sql` for a statement of its own, or the handle that `transaction` gives. */
export type Db = postgres.ISql;

export const sql: Db = client;

/** Runs `work` in one transaction: all of it is committed when the promise resolves, and nothing when it rejects for a reason of its own. */
export async function transaction<T>(work: (tx: Db) => Promise<T>): Promise<T> {
  let result: { value: T } | undefined;
  await client.begin(async (tx) => {
    result = { value: await work(tx) };
  });
  if (!result) throw new Error("the transaction ended without a result");
  return result.value;
}

export async function closeDatabase(): Promise<void> {
  await client.end({ timeout: 5 });
}
