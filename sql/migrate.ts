import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import Postgrator from "postgrator";
import { describeError } from "../lib/process/describe-error.js";
import { findPrimary } from "../lib/process/find-primary.js";
import { pgOptions, readDatabaseUrl } from "../lib/process/server-address.js";
import { listMigrations, MIGRATIONS, numberOf, VERSIONS_TABLE } from "./migrations.js";

const FUNCTIONS = fileURLToPath(new URL("./functions", import.meta.url));
const OLDEST_SERVER = 15;
/** A release would rather wait for a busy server than fail. */
const CONNECT_MS = 30_000;

/** An advisory lock for the whole run: of several processes that start at once one migrates, and the others find it done. */
const MIGRATION_LOCK = 7_306_012;

const LOCK_WAIT_MS = 200;
const LOCK_PAUSE_MS = 1_000;
const LOCK_ATTEMPTS = 600;
const LOCK_NOT_AVAILABLE = "55P03";

/** Frees a session of the timeouts of its role, which are meant for requests. */
export const withoutTimeouts = "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0";

/** The folders of the SQL files; tests use their own. */
export interface MigrationFolders {
  migrations: string;
  functions: string;
}

const escapeGlob = (path: string) => path.replaceAll("\\", "/").replace(/[?*()[\]{}]/g, "[$&]");

function migrator(client: pg.Client, folder: string): Postgrator {
  return new Postgrator({
    driver: "pg",
    schemaTable: VERSIONS_TABLE,
    migrationPattern: `${escapeGlob(folder)}/*.do.*.sql`,
    newline: "LF",
    execQuery: (query) => client.query(query),
  });
}

/**
 * Runs `work` in a transaction. Statements on a table queue behind one that waits to lock it. So `work` waits only briefly
 * for a lock, then gives way, pauses for longer than it waited, and starts again until the lock is free.
 */
async function inTransaction(client: pg.Client, work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    await client.query("begin");
    await client.query(`set local lock_timeout = ${LOCK_WAIT_MS}`);
    try {
      await work();
      await client.query("commit");
      return;
    } catch (error) {
      await client.query("rollback").catch(() => undefined);
      const isLocked = error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE;
      if (!isLocked || attempt >= LOCK_ATTEMPTS) throw error;
      await delay(LOCK_PAUSE_MS);
    }
  }
}

async function refuseSharedNumbers(folder: string): Promise<void> {
  const files = await listMigrations(folder);
  for (const [place, file] of files.entries()) {
    const other = files.slice(0, place).find((earlier) => numberOf(earlier) === numberOf(file));
    if (other !== undefined)
      throw new Error(`${other} and ${file} have one number: give one of them the next free one`);
  }
}

/** Applies the missing migrations, oldest first, each in a transaction; returns their names. */
async function applyMigrations(client: pg.Client, folder: string): Promise<string[]> {
  await refuseSharedNumbers(folder);
  const postgrator = migrator(client, folder);
  await client.query(`
    create table if not exists ${VERSIONS_TABLE} (version bigint primary key, name text, md5 text, run_at timestamptz)`);
  const { rows } = await client.query<{ version: string; name: string }>(`select version, name from ${VERSIONS_TABLE}`);
  const applied = new Map(rows.map(({ version, name }) => [Number(version), name]));
  const migrations = await postgrator.getMigrations();
  if (migrations.length === 0) throw new Error(`there are no migrations in ${folder}`);
  await validate(postgrator, applied);
  const missing = migrations
    .filter((migration) => !applied.has(migration.version))
    .sort((one, other) => one.version - other.version);
  for (const migration of missing) {
    await inTransaction(client, () => postgrator.runMigrations([migration])).catch((error: unknown) => {
      throw new Error(`${fileName(migration)} failed: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    });
  }
  return missing.map(fileName);
}

const fileName = (migration: Postgrator.Migration) => basename(migration.filename);

/** Refuses migrations that differ from what was applied under their numbers. */
async function validate(postgrator: Postgrator, applied: ReadonlyMap<number, string>): Promise<void> {
  let checked: Postgrator.Migration | undefined;
  postgrator.on("validation-started", (migration) => (checked = migration));
  await postgrator.validateMigrations(Math.max(0, ...applied.keys())).catch((error: unknown) => {
    if (!(error instanceof Error) || !error.message.includes("checksum") || !checked) throw error;
    const file = fileName(checked);
    const appliedFile = file.replace(/\.do\..*/, `.do.${applied.get(checked.version)}.sql`);
    throw new Error(
      file === appliedFile
        ? `${file} was changed after it had been applied: put it back as it was, and make the change in a new migration, or make the database anew before the first release`
        : `${file} and ${appliedFile}, which is applied, have one number: give the first the next free one`,
    );
  });
}

async function applyFunctions(client: pg.Client, folder: string): Promise<void> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort();
  for (const file of files) {
    await client.query(await readFile(join(folder, file), "utf8")).catch((error: unknown) => {
      throw new Error(`${file} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    });
  }
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string; number: number }>(
    "select current_setting('server_version') as version, current_setting('server_version_num')::integer as number",
  );
  const server = rows[0];
  if (!server || server.number < OLDEST_SERVER * 10_000) {
    throw new Error(
      `Postgres ${server?.version ?? "of an unknown version"} is too old: version ${OLDEST_SERVER} or later is needed`,
    );
  }
}

/** Makes these settings the defaults of this role's sessions in this database. */
async function setForRole(client: pg.Client, settings: Readonly<Record<string, string | number>>): Promise<void> {
  const database = client.escapeIdentifier(client.database ?? "");
  for (const [name, value] of Object.entries(settings))
    await client.query(`alter role current_user in database ${database} set ${name} = ${value}`);
}

/**
 * Brings a database's schema and functions up to date; any number of processes may do so at once. Returns the names of the
 * applied migrations. Rejects with one line that names the failed file, of which nothing is applied. With `forRole`, when
 * the address leads past a pooler, it also sets what this role's sessions begin with.
 */
export async function migrate(
  databaseUrl: string,
  folders: MigrationFolders = { migrations: MIGRATIONS, functions: FUNCTIONS },
  forRole?: Readonly<Record<string, string | number>>,
): Promise<string[]> {
  const unusable = (error: unknown) => {
    throw new Error(`${forRole ? "DATABASE_DIRECT_URL" : "DATABASE_URL"} cannot be used: ${describeError(error)}`, {
      cause: error,
    });
  };
  const client = new pg.Client({
    ...pgOptions(readDatabaseUrl(await findPrimary(databaseUrl).catch(unusable))),
    application_name: "migrate",
    connectionTimeoutMillis: CONNECT_MS,
  });
  client.on("error", () => undefined);
  await client.connect().catch(unusable);
  try {
    await checkServer(client);
    await client.query(withoutTimeouts);
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    if (forRole) await setForRole(client, forRole);
    const applied = await applyMigrations(client, folders.migrations);
    await inTransaction(client, () => applyFunctions(client, folders.functions));
    return applied;
  } finally {
    await client.end();
  }
}
