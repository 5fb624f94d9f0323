import { execFile, spawnSync } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { z } from "zod";
import { startEmbeddedPostgres } from "../../scripts/embedded-postgres.js";
import { compilePrograms } from "./compile-programs.js";
import { compiled } from "./compiled.js";
import { chooseScratch, scratch, scratchFolder } from "./scratch.js";
import { serverFolder } from "./server-folder.js";

/** The host's variables that tests may see; the host's configuration of the service must not reach a test. */
const KEPT = /^(PATH|HOME|TMPDIR|LANG|CI|TEST_\w+|JEST_\w+)$/;

/** Limits that a slow machine, a fast one, or a test of something else, would reach. Tests of these limits set their own. */
const PATIENCE = {
  DATABASE_TIMEOUT_MS: "120000",
  DATABASE_WAIT_MS: "120000",
  SEARCH_TIMEOUT_MS: "120000",
  SYNC_WAIT_MS: "60000",
  IMAGE_SECONDS: "600",
  ORDERS_OPEN_MAX: "1000000",
  BODY_SECONDS: "300",
  OPEN_IMPORTS: "100",
  RATE_LIMIT_USER: "1000000",
  RATE_LIMIT_ADDRESS: "1000000",
};

let removeOwnServer: (() => Promise<void>) | undefined;

async function asAdmin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: process.env["TEST_SERVER"] });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const urlOf = (database: string) =>
  Object.assign(new URL(process.env["TEST_SERVER"] ?? ""), { pathname: `/${database}` }).href;

const template = () => `${process.env["TEST_RUN"]}_template`;

async function ownServer(): Promise<string> {
  const { folder, remove } = await serverFolder();
  removeOwnServer = remove;
  return (await startEmbeddedPostgres({ folder, durable: false })).url;
}

function newKeys(): { SIGNING_KEYS: string; CREDENTIALS_KEYS: string } {
  const jwk = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  return {
    SIGNING_KEYS: JSON.stringify([{ ...jwk, kid: "test", alg: "EdDSA" }]),
    CREDENTIALS_KEYS: `t1:${randomBytes(32).toString("base64")}`,
  };
}

/** Creates the migrated template database, on TEST_DATABASE_URL's server or on an embedded one. */
export async function startTestServer(): Promise<void> {
  await chooseScratch();
  process.env["TEST_PROGRAMS"] = await scratchFolder("programs");
  await compilePrograms(process.env["TEST_PROGRAMS"]);
  process.env["TEST_RUN"] = `test_${randomBytes(4).toString("hex")}`;
  process.env["TEST_KEYS"] = JSON.stringify(newKeys());
  process.env["TEST_REDIS"] = spawnSync("redis-server", ["--version"]).status === 0 ? "1" : "";
  process.env["TEST_SERVER"] = process.env["TEST_DATABASE_URL"] ?? (await ownServer());
  await asAdmin((client) => client.query(`create database ${template()}`));
  const env = testEnvironment(process.env, { name: template(), url: urlOf(template()) });
  await promisify(execFile)(process.execPath, [compiled("scripts/migrate.ts")], { env });
}

export async function stopTestServer(): Promise<void> {
  await rm(process.env["TEST_PROGRAMS"] ?? "", { recursive: true, force: true });
  if (removeOwnServer) {
    await removeOwnServer();
    return;
  }
  await asAdmin(async (client) => {
    const { rows } = await client.query<{ datname: string }>("select datname from pg_database where datname like $1", [
      `${process.env["TEST_RUN"]}%`,
    ]);
    for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`);
  });
}

export interface TestDatabase {
  name: string;
  url: string;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `${process.env["TEST_RUN"]}_${randomBytes(4).toString("hex")}`;
  await asAdmin((client) => client.query(`create database ${name} template ${template()}`));
  return { name, url: urlOf(name) };
}

/** The storage folder of the test file with this database. */
const storageOf = (name: string) => join(scratch(), "storage", name);

/** Drops the database and the connections that the test file left open. */
export async function dropTestDatabase({ name }: TestDatabase): Promise<void> {
  await rm(storageOf(name), { recursive: true, force: true });
  await asAdmin((client) => client.query(`drop database ${name} with (force)`));
}

/** The environment of a process under test: the permitted variables of `host` and the test's configuration. */
export function testEnvironment(host: NodeJS.ProcessEnv, { name, url }: TestDatabase): NodeJS.ProcessEnv {
  const keys = z.record(z.string(), z.string()).parse(JSON.parse(host["TEST_KEYS"] ?? "{}"));
  return {
    ...Object.fromEntries(Object.entries(host).filter(([name]) => KEPT.test(name))),
    ...keys,
    NODE_ENV: "test",
    LOG_LEVEL: host["TEST_LOG_LEVEL"] ?? "silent",
    PORT: "0",
    ...PATIENCE,
    DATABASE_URL: url,
    STORAGE_DIR: storageOf(name),
    // the package is pinned to versions that run on Node 20, and says so at every start
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
  };
}
