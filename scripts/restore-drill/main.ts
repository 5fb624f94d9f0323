import "../configured.js";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import pg from "pg";
import { config } from "../../lib/process/config.js";
import { findPrimary } from "../../lib/process/find-primary.js";
import { exitWithLine } from "../../lib/process/lifecycle.js";
import { pgOptions, readDatabaseUrl } from "../../lib/process/server-address.js";
import { migrate, withoutTimeouts } from "../../sql/migrate.js";
import { usage } from "../command.js";
import { print, withProgress, type ReportStep } from "../progress-bar.js";
import { atOneMoment, differences, readContents, type Contents } from "./contents.js";
import { checkTools, dump, restore, writeAuthorities } from "./tools.js";

/**
 * `npm run restore-drill [-- backup.dump]`: dumps the database, restores the dump into a new database on the same server,
 * and compares the contents of both. Rows written meanwhile are in neither. A dump is kept only when the two agree.
 */

const [backup, ...rest] = process.argv.slice(2);
if (rest.length > 0 || backup?.startsWith("-")) exitWithLine(usage);
if (backup !== undefined && !existsSync(dirname(resolve(backup))))
  exitWithLine(`There is no folder ${dirname(resolve(backup))}.`);

/** To dump, to read what was dumped, to restore, and to read what was restored; the last step is soon done. */
const STEPS = 4;

/** When much is missing, the first lines are enough. */
const MOST_LINES = 50;

// a dump holds personal data
process.umask(0o077);
const stopping = new AbortController();
const { signal } = stopping;
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => stopping.abort());

const messageOf = (error: unknown) => (error instanceof Error && error.message) || String(error);

/** Undoes the steps so far; run in reverse order. */
const undo: (() => Promise<unknown>)[] = [];

function unusable(error: unknown): never {
  const name = config.POOLED ? "DATABASE_DIRECT_URL" : "DATABASE_URL";
  throw new Error(`${name} cannot be used: ${messageOf(error)}`, { cause: error });
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({
    ...pgOptions(readDatabaseUrl(databaseUrl)),
    application_name: "restore-drill",
    keepAlive: true,
  });
  client.on("error", () => undefined);
  await client.connect().catch(unusable);
  undo.push(() => client.end());
  await client.query(withoutTimeouts);
  return client;
}

/** The Postgres that `npm start` brings is the only one whose password lies in DATA_DIR. */
async function refuseEmbedded(databaseUrl: string): Promise<void> {
  const password = await readFile(join(config.DATA_DIR, "postgres", "password"), "utf8").catch(() => undefined);
  if (password === undefined || new URL(databaseUrl).password !== password) return;
  throw new Error(
    `This database is the one that npm start keeps in ${config.DATA_DIR}: stop it and copy that folder instead, with cp -a.`,
  );
}

interface Settings {
  name: string;
  version: number;
  encoding: string;
  provider: string;
  locale: string | null;
  collate: string;
  ctype: string;
}

async function readSettings(client: pg.Client): Promise<Settings> {
  const { rows } = await client.query<Settings>(`
    select
      datname as name,
      current_setting('server_version_num')::integer / 10000 as version,
      pg_encoding_to_char(encoding) as encoding,
      datlocprovider as provider,
      -- the name of the column depends on the server's version
      coalesce(to_jsonb(pg_database) ->> 'datlocale', to_jsonb(pg_database) ->> 'daticulocale') as locale,
      datcollate as collate,
      datctype as ctype
    from pg_database
    where datname = current_database()`);
  const [row] = rows;
  if (!row) throw new Error("The database does not know its own name.");
  return row;
}

/** Creates an empty database with the same encoding and collation; returns its address. */
async function createCopy(
  client: pg.Client,
  databaseUrl: string,
  { name, encoding, provider, locale, ...libc }: Settings,
): Promise<string> {
  const copy = `${name.slice(0, 40)}_restore_drill`;
  const builtIn = provider === "b" ? ["builtin", "builtin_locale"] : ["icu", "icu_locale"];
  const options = {
    template: "template0",
    encoding: pg.escapeLiteral(encoding),
    lc_collate: pg.escapeLiteral(libc.collate),
    lc_ctype: pg.escapeLiteral(libc.ctype),
    ...(provider !== "c" && { locale_provider: builtIn[0], [String(builtIn[1])]: pg.escapeLiteral(locale ?? "") }),
  };
  const clauses = Object.entries(options).map(([option, value]) => `${option} = ${value}`);
  await client.query(`create database ${pg.escapeIdentifier(copy)} ${clauses.join(" ")}`).catch((error: unknown) => {
    const code = error instanceof pg.DatabaseError ? error.code : undefined;
    if (code === "42501")
      throw new Error("This user may not create databases; a superuser allows it: alter role … createdb");
    if (code === "42P04")
      throw new Error(
        `There is a database ${copy}: another drill is running, or was killed; in that case drop it first.`,
      );
    throw error;
  });
  undo.push(() => client.query(`drop database ${pg.escapeIdentifier(copy)} with (force)`));
  return Object.assign(new URL(databaseUrl), { pathname: `/${encodeURIComponent(copy)}` }).href;
}

/** A table of the restored rows and sums, for a terminal. */
function report({ tables }: Contents): string {
  const rows = [...tables].map(([name, { rows, sums }]) => [
    name.replace(/^public\./, ""),
    rows.toLocaleString("en"),
    [...sums].map(([column, sum]) => `${column} ${sum.toLocaleString("en")}`).join(", "),
  ]);
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const [first, second] = [width(0), width(1)];
  return rows
    .map(([name = "", count = "", sums = ""]) => `${name.padEnd(first)}  ${count.padStart(second)}  ${sums}`.trimEnd())
    .concat("")
    .join("\n");
}

/** Prints what was restored and returns the differences. */
async function drill(progress: ReportStep): Promise<string[]> {
  const databaseUrl = await findPrimary(config.DATABASE_DIRECT_URL).catch(unusable);
  await refuseEmbedded(databaseUrl);
  const admin = await connect(databaseUrl);
  const settings = await readSettings(admin);
  await checkTools(settings.version, signal);

  const folder = await mkdtemp(join(tmpdir(), "surplus-food-drill-"));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const file = backup === undefined ? join(folder, "dump") : `${resolve(backup)}.new`;
  if (backup !== undefined) undo.push(() => rm(file, { force: true }));
  const authorities = join(folder, "authorities.pem");
  await writeAuthorities(authorities);
  const copyUrl = await createCopy(admin, databaseUrl, settings);

  const source = await connect(databaseUrl);
  const dumped = await atOneMoment(source, async () => {
    const { rows } = await source.query<{ snapshot: string }>("select pg_export_snapshot() as snapshot");
    progress(0, STEPS, "dumping");
    await dump({ databaseUrl, authorities, signal }, rows[0]?.snapshot ?? "", file);
    return readContents(source, signal, (done, total) =>
      progress(1 + done / (total ?? 1), STEPS, "reading the original"),
    );
  });
  progress(2, STEPS, "restoring");
  const complaint = await restore({ databaseUrl: copyUrl, authorities, signal }, file);
  const copy = await connect(copyUrl);
  const restored = await atOneMoment(copy, () =>
    readContents(copy, signal, (done, total) => progress(3 + done / (total ?? 1), STEPS, "reading the copy")),
  );
  print(report(restored));

  const different = differences(dumped, restored);
  if (different.length > 0) return [...(complaint === undefined ? [] : [complaint]), ...different];
  if (complaint !== undefined) print(`The copy is complete, although ${complaint}\n`);
  const rows = [...restored.tables.values()].reduce((sum, table) => sum + table.rows, 0n);
  const counts = `${restored.tables.size} tables with ${rows.toLocaleString("en")} rows, ${restored.objects.size} columns, constraints and other objects`;
  print(`The copy equals the original: ${counts}.\n`);
  const missing = await migrate(copyUrl);
  print(
    missing.length === 0
      ? "Its schema is that of this release.\n"
      : `This release has migrated the copy from an older schema: ${missing.join(", ")}.\n`,
  );
  if (backup !== undefined) {
    await rename(file, backup);
    print(`The dump is kept in ${backup}.\n`);
  }
  return [];
}

let complaints: string[];
try {
  const found = await withProgress("preparing", drill);
  complaints = found.length > MOST_LINES ? [...found.slice(0, MOST_LINES), "… and more"] : found;
} catch (error) {
  complaints = [signal.aborted ? "The drill was stopped." : messageOf(error)];
}
for (const step of undo.reverse()) {
  await step().catch((error: unknown) => complaints.push(messageOf(error)));
}
for (const complaint of complaints) process.stderr.write(`${complaint}\n`);
process.exitCode = complaints.length === 0 ? 0 : 1;
