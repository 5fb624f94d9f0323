import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { pgOptions, readDatabaseUrl } from "../../lib/process/server-address.js";

const STATEMENTS = fileURLToPath(new URL("./marketplace.sql", import.meta.url));

const AT_SCALE_1 = { partners: 50_000, boxes: 200_000, users: 500_000, orders: 1_000_000 };

/** Fills a migrated database with a marketplace of `scale` times a million orders; rejects when there are orders in it. */
export async function seedMarketplace(databaseUrl: string, scale: number): Promise<void> {
  const text = await readFile(STATEMENTS, "utf8");
  const statements = Object.entries(AT_SCALE_1).reduce(
    (sql, [name, count]) => sql.replaceAll(`:${name}`, String(Math.ceil(count * scale))),
    text,
  );
  const client = new pg.Client({ ...pgOptions(readDatabaseUrl(databaseUrl)), application_name: "seed" });
  await client.connect();
  try {
    const { rowCount } = await client.query("select from orders limit 1");
    if (rowCount !== 0) throw new Error("There are orders in this database already: seed an empty one.");
    await client.query("begin");
    await client.query(statements);
    await client.query("commit");
    await client.query("vacuum analyze");
  } finally {
    await client.end();
  }
}
