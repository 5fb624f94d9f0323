import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { ReportProgress } from "../../lib/domain/progress.js";
import { findPrimary } from "../../lib/process/find-primary.js";
import { withoutTimeouts } from "../../sql/migrate.js";
import { pgOptions, readDatabaseUrl } from "../../lib/process/server-address.js";

const STATEMENTS = fileURLToPath(new URL("./marketplace.sql", import.meta.url));

const AT_SCALE_1 = { partners: 50_000, boxes: 200_000, users: 500_000, orders: 1_000_000 };

/**
 * Fills a migrated database with a marketplace of `scale` times a million orders. Rejects when there are orders in it, unless
 * it may go `beside` them, and when it is there already. It reports the statements that are done.
 */
export async function seedMarketplace(
  databaseUrl: string,
  scale: number,
  beside = false,
  report: ReportProgress = () => undefined,
): Promise<void> {
  const text = await readFile(STATEMENTS, "utf8");
  const filled = Object.entries(AT_SCALE_1).reduce(
    (sql, [name, count]) => sql.replaceAll(`:${name}`, String(Math.ceil(count * scale))),
    text,
  );
  const statements = filled.split(/;\n/).filter((statement) => statement.trim() !== "");
  const client = new pg.Client({
    ...pgOptions(readDatabaseUrl(await findPrimary(databaseUrl))),
    application_name: "seed",
  });
  await client.connect();
  try {
    await client.query(withoutTimeouts);
    const { rows } = await client.query<{ seeded: boolean; used: boolean }>(
      `select exists (select from users where service_id like 'SEED-%') as seeded, exists (select from orders) as used`,
    );
    if (rows[0]?.seeded) throw new Error("This database was seeded already.");
    if (rows[0]?.used && !beside)
      throw new Error("There are orders in this database: seed an empty one, or add to them with --beside.");
    await client.query("begin");
    for (const [index, statement] of statements.entries()) {
      report(index, statements.length);
      await client.query(statement);
    }
    await client.query("commit");
    await client.query("vacuum analyze");
  } finally {
    await client.end();
  }
}
