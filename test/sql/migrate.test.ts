import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { sql } from "../../sql/db.js";
import { migrate, type MigrationFolders } from "../../sql/migrate.js";
import { pendingMigrations } from "../../sql/migrations.js";
import { until } from "../support/until.js";

const url = process.env["DATABASE_URL"] ?? "";
const sources = fileURLToPath(new URL("../../sql", import.meta.url));

let folder: string;
let folders: MigrationFolders;
let empty: string;

const write = (file: string, text: string) => writeFile(join(folder, file), text);

async function ask(database: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  try {
    return (await client.query<object>(text)).rows;
  } finally {
    await client.end();
  }
}

/** A folder of migrations for the test, and a database without them. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "surplus-food-migrations-[1]-"));
  folders = { migrations: join(folder, "migrations"), functions: join(folder, "functions") };
  await cp(join(sources, "migrations"), folders.migrations, { recursive: true });
  await cp(join(sources, "functions"), folders.functions, { recursive: true });
  const name = `empty_${process.pid}_${Date.now()}`;
  await ask(url, `create database ${name}`);
  empty = Object.assign(new URL(url), { pathname: `/${name}` }).href;
});

afterEach(async () => {
  await ask(url, `drop database ${new URL(empty).pathname.slice(1)}`);
  await rm(folder, { recursive: true });
});

test("a copy of the template is fully migrated", async () => {
  expect(await pendingMigrations(sql)).toEqual([]);
  expect(await migrate(url)).toEqual([]);
});

test("several processes that start at once migrate once", async () => {
  const applied = await Promise.all([1, 2, 3, 4].map(() => migrate(empty, folders)));
  const [first, ...others] = applied.sort((one, other) => other.length - one.length);
  expect(first).toContain("001.do.foundation.sql");
  expect(others).toEqual([[], [], []]);
});

test("a release with a new migration is behind until it is applied", async () => {
  await migrate(empty, folders);
  await write("migrations/900.do.extra.sql", "create table extra (id integer);");
  expect(await migrate(empty, folders)).toEqual(["900.do.extra.sql"]);
  expect(await ask(empty, "select id from extra")).toEqual([]);
  await ask(url, "delete from schema_versions where version = 1");
  expect(await pendingMigrations(sql)).toEqual(["001.do.foundation.sql"]);
  await ask(url, "insert into schema_versions (version, name) values (1, 'theirs')");
  expect(await pendingMigrations(sql)).toEqual(["001.do.foundation.sql"]);
});

test("a failed migration is rolled back, named, and can be repeated", async () => {
  await migrate(empty, folders);
  await write("migrations/900.do.extra.sql", "create table extra (id integer); select 1 / 0;");
  await expect(migrate(empty, folders)).rejects.toThrow(/^900.do.extra.sql failed: division by zero$/);
  await write("migrations/900.do.extra.sql", "create table extra (id integer);");
  expect(await migrate(empty, folders)).toEqual(["900.do.extra.sql"]);
});

test("a migration that waits for a lock lets others use the table meanwhile", async () => {
  await migrate(empty, folders);
  await write("migrations/900.do.extra.sql", "alter table cities add column extra text;");
  const reader = new pg.Client({ connectionString: empty });
  await reader.connect();
  try {
    await reader.query("begin; select from cities");
    const migrated = migrate(empty, folders);
    const waits = "select from pg_locks where not granted and relation = 'cities'::regclass";
    await until(async () => (await ask(empty, waits)).length > 0);
    // it would wait for ever, as the migration waits for the reader
    expect(await ask(empty, "select id from cities")).toEqual([]);
    await reader.query("commit");
    expect(await migrated).toEqual(["900.do.extra.sql"]);
  } finally {
    await reader.end();
  }
});

describe("past a pooler", () => {
  const settings = {
    statement_timeout: 100,
    idle_in_transaction_session_timeout: 100,
    client_min_messages: "warning",
  };
  const begins = () =>
    ask(
      empty,
      `select current_setting('statement_timeout') as statement, current_setting('client_min_messages') as messages,
        current_setting('idle_in_transaction_session_timeout') as pause`,
    );

  test("the role's sessions begin with the settings from then on, and without a pooler they do not", async () => {
    const byDefault = [{ statement: "0", messages: "notice", pause: "0" }];
    await migrate(empty, folders);
    expect(await begins()).toEqual(byDefault);
    await migrate(empty, folders, settings);
    expect(await begins()).toEqual([{ statement: "100ms", messages: "warning", pause: "100ms" }]);
  });

  test("a migration may take longer than the role's statements and pauses", async () => {
    await migrate(empty, folders, settings);
    await write("migrations/900.do.long.sql", "select pg_sleep(0.5);");
    expect(await migrate(empty, folders, settings)).toEqual(["900.do.long.sql"]);
  });

  test("the variable with its address is named when that cannot be used", async () => {
    const nowhere = "postgres://localhost:1/name";
    await expect(migrate(nowhere, folders, settings)).rejects.toThrow(/^DATABASE_DIRECT_URL cannot be used: /);
    await expect(migrate(nowhere, folders)).rejects.toThrow(/^DATABASE_URL cannot be used: /);
  });
});

test("a migration that changed after it was applied is refused by name", async () => {
  await write("migrations/900.do.extra.sql", "create table extra (id integer);");
  await migrate(empty, folders);
  await write("migrations/900.do.extra.sql", "create table extra (id bigint);");
  await expect(migrate(empty, folders)).rejects.toThrow(/^900.do.extra.sql was changed after it had been applied/);
});

test("two migrations with one number are refused by name, together or when one of them is applied", async () => {
  await write("migrations/900.do.mine.sql", "create table mine (id integer);");
  await write("migrations/0900.do.theirs.sql", "create table theirs (id integer);");
  await expect(migrate(empty, folders)).rejects.toThrow(
    /^0900.do.theirs.sql and 900.do.mine.sql have one number: give one of them the next free one$/,
  );
  await rm(join(folder, "migrations/0900.do.theirs.sql"));
  await migrate(empty, folders);
  await rm(join(folder, "migrations/900.do.mine.sql"));
  await write("migrations/900.do.theirs.sql", "create table theirs (id integer);");
  await expect(migrate(empty, folders)).rejects.toThrow(
    /^900.do.theirs.sql and 900.do.mine.sql, which is applied, have one number/,
  );
});

test("functions are replaced at every run, all of them or none", async () => {
  await write(
    "functions/answer.sql",
    "create or replace function answer() returns integer language sql as 'select 41';",
  );
  await migrate(empty, folders);
  await write(
    "functions/answer.sql",
    "create or replace function answer() returns integer language sql as 'select 42';",
  );
  await migrate(empty, folders);
  expect(await ask(empty, "select answer()")).toEqual([{ answer: 42 }]);
  await write(
    "functions/answer.sql",
    "create or replace function answer() returns integer language sql as 'select 43';",
  );
  await write("functions/zzz.sql", "create or replace function broken(;");
  await expect(migrate(empty, folders)).rejects.toThrow(/^zzz.sql failed: syntax error/);
  expect(await ask(empty, "select answer()")).toEqual([{ answer: 42 }]);
});
