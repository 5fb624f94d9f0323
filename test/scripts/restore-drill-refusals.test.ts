import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "@jest/globals";
import pg from "pg";
import { config } from "../../lib/process/config.js";
import { runScript } from "../support/run-script.js";
import { standIns, type StandIns } from "../support/stand-in-programs.js";

const url = new URL(config.DATABASE_URL);
const copy = `${url.pathname.slice(1)}_restore_drill`;
const made: StandIns[] = [];

const client = new pg.Client({ connectionString: url.href });
await client.connect();

afterEach(async () => {
  await Promise.all(made.splice(0).map((each) => each.remove()));
});
afterAll(() => client.end());

/** Programs that print their version and fail on everything else. */
async function programs(versions: Record<string, string>): Promise<StandIns> {
  const says = (program: string, version: string) =>
    `[ "$1" = --version ] || { echo "${program} does not like $1" >&2; exit 1; }; echo "${program} (PostgreSQL) ${version}"`;
  const scripts: Record<string, string> = {};
  for (const [program, version] of Object.entries(versions)) scripts[program] = says(program, version);
  const programs = await standIns(scripts);
  made.push(programs);
  return programs;
}

const drill = async (versions: Record<string, string>, env: NodeJS.ProcessEnv = {}, args: string[] = []) =>
  runScript("restore-drill/main", args, { PATH: (await programs(versions)).folder, ...env });

const refusal = (line: RegExp) => ({ code: 1, output: expect.stringMatching(new RegExp(`^${line.source}\\n$`)) });

async function hasCopy(): Promise<boolean> {
  const { rowCount } = await client.query("select from pg_database where datname = $1", [copy]);
  return rowCount === 1;
}

test("names the missing program", async () => {
  expect(await drill({})).toEqual(refusal(/There is no pg_dump on the PATH: [^\n]+/));
  expect(await drill({ pg_dump: "99.1" })).toEqual(refusal(/There is no pg_restore on the PATH: [^\n]+/));
  expect(await hasCopy()).toBe(false);
});

test("names the program that is too old", async () => {
  expect(await drill({ pg_dump: "14.2", pg_restore: "99.1" })).toEqual(
    refusal(/pg_dump 14 is older than the server, which is \d+: [^\n]+/),
  );
  expect(await drill({ pg_dump: "99.1 (Debian 99.1-0)", pg_restore: "98.4" })).toEqual(
    refusal(/pg_restore 98 is older than pg_dump 99: [^\n]+/),
  );
});

const current = { pg_dump: "99.1", pg_restore: "99.1" };

test("reports that its user may not create databases", async () => {
  const role = `clerk_${randomBytes(4).toString("hex")}`;
  await client.query(`create role ${role} login password 'secret'`);
  try {
    const DATABASE_URL = Object.assign(new URL(url), { username: role, password: "secret" }).href;
    expect(await drill(current, { DATABASE_URL })).toEqual(refusal(/This user may not create databases; [^\n]+/));
  } finally {
    await client.query(`drop role ${role}`);
  }
});

test("does not touch an existing copy", async () => {
  await client.query(`create database ${copy}`);
  try {
    expect(await drill(current)).toEqual(refusal(/There is a database \w+_restore_drill: [^\n]+/));
    expect(await hasCopy()).toBe(true);
  } finally {
    await client.query(`drop database ${copy}`);
  }
});

test("says what to copy when npm start keeps the database", async () => {
  const { folder } = await programs(current);
  await mkdir(join(folder, "postgres"));
  await writeFile(join(folder, "postgres", "password"), url.password);
  expect(await drill(current, { DATA_DIR: folder })).toEqual(refusal(/[^\n]*npm start keeps in [^\n]*cp -a[^\n]*/));
});

test("reports a program's error in one line, and leaves nothing behind", async () => {
  const { folder } = await programs({});
  expect(await drill(current, { TMPDIR: folder })).toEqual(
    refusal(/pg_dump failed: pg_dump does not like --format=custom/),
  );
  expect(await hasCopy()).toBe(false);
});

test("reports that the database cannot be reached", async () => {
  const nowhere = await drill(current, { DATABASE_URL: "postgres://user@127.0.0.1:1/nowhere" });
  expect(nowhere).toEqual(refusal(/DATABASE_URL cannot be used: [^\n]+/));
});

test.each([[["one.dump", "two.dump"]], [["--keep"]]])("wrong arguments (%j) show the usage", async (args) => {
  expect(await drill(current, {}, args)).toEqual(refusal(/Usage: [^\n]*/));
});

test("reports a missing folder for the dump", async () => {
  expect(await drill(current, {}, ["/no/such/folder/backup.dump"])).toEqual(
    refusal(/There is no folder \/no\/such\/folder\./),
  );
});
