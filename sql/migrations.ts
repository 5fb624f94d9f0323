import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Db } from "./db.js";

/** The folder of this release's migrations. */
export const MIGRATIONS = fileURLToPath(new URL("./migrations", import.meta.url));
/** Names the migrations that a database has. */
export const VERSIONS_TABLE = "schema_versions";

/** Lists the migrations in a folder, oldest first. */
export const listMigrations = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((file) => /^\d+\.do\..*\.sql$/.test(file)).sort();

/** The number of a migration, by its file name: 7 of `007.do.cities.sql`. */
export const numberOf = (file: string): number => Number.parseInt(file, 10);

const nameOf = (file: string) => file.replace(/^\d+\.do\.(.*)\.sql$/, "$1");

let known: Promise<string[]> | undefined;

/**
 * Lists the files of this release's migrations that are not applied to `db`; one whose number another migration has is not.
 * Processes that serve ask this, so it stands apart from what migrates and the packages that need.
 */
export async function pendingMigrations(db: Db): Promise<string[]> {
  known ??= listMigrations(MIGRATIONS);
  const files = await known;
  const [table] = await db<{ exists: boolean }[]>`select to_regclass(${VERSIONS_TABLE}) is not null as exists`;
  if (!table?.exists) return files;
  const rows = await db<{ version: number; name: string | null }[]>`
    select version::integer, name from schema_versions`;
  const applied = new Map(rows.map(({ version, name }) => [version, name]));
  return files.filter((file) => applied.get(numberOf(file)) !== nameOf(file));
}
