import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../sql/migrate.js";
import { startEmbeddedPostgres } from "./embedded-postgres.js";

/** Runs `work` with the address of an empty, migrated database on a server of its own, which is removed afterwards. */
export async function withMigratedDatabase(work: (databaseUrl: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "surplus-food-"));
  try {
    const database = await startEmbeddedPostgres({ folder, durable: false });
    try {
      await migrate(database.url);
      await work(database.url);
    } finally {
      await database.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
