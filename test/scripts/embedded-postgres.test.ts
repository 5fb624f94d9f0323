import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import pg from "pg";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../../scripts/embedded-postgres.js";
import { compiled } from "../support/compiled.js";
import { serverFolder } from "../support/server-folder.js";

let folder: string;
let remove: () => Promise<void>;

beforeEach(async () => {
  ({ folder, remove } = await serverFolder());
});
afterEach(() => remove());

const start = () => startEmbeddedPostgres({ folder, durable: false });

async function ask({ url }: EmbeddedPostgres, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<object>(text)).rows;
  } finally {
    await client.end();
  }
}

const serverProcess = async () => Number((await readFile(join(folder, "data/postmaster.pid"), "utf8")).split("\n")[0]);

test("data survives a stop and a start", async () => {
  const first = await start();
  await ask(first, "create table kept as select 7 as value");
  await first.stop();
  await expect(ask(first, "select")).rejects.toThrow();
  const second = await start();
  expect(await ask(second, "select value from kept")).toEqual([{ value: 7 }]);
  await second.stop();
});

test("a copy of the folder made while it was stopped is a backup", async () => {
  const first = await start();
  await ask(first, "create table kept as select 7 as value");
  await first.stop();
  const copy = await serverFolder();
  await promisify(execFile)("cp", ["-a", `${folder}/.`, copy.folder]);
  const later = await start();
  await ask(later, "drop table kept");
  await later.stop();
  const restored = await startEmbeddedPostgres({ folder: copy.folder, durable: false });
  expect(await ask(restored, "select value from kept")).toEqual([{ value: 7 }]);
  await restored.stop();
  await copy.remove();
});

test("connections need the password, which only the folder's owner can read", async () => {
  const server = await start();
  const url = Object.assign(new URL(server.url), { password: "guess" }).href;
  await expect(ask({ ...server, url }, "select")).rejects.toThrow("password authentication failed");
  expect((await stat(join(folder, "password"))).mode & 0o777).toBe(0o600);
  await server.stop();
});

test("a server whose starter was killed is taken over", async () => {
  const script = pathToFileURL(compiled("scripts/embedded-postgres.ts")).href;
  const code = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(script)});
    await startEmbeddedPostgres({ folder: ${JSON.stringify(folder)}, durable: false });
    process.kill(process.pid, "SIGKILL");`;
  const starter = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "inherit" });
  expect(await once(starter, "exit")).toEqual([null, "SIGKILL"]);
  const left = await serverProcess();
  const server = await start();
  expect(await serverProcess()).toBe(left);
  expect(await ask(server, "select 1 as one")).toEqual([{ one: 1 }]);
  await server.stop();
});

test("a folder in use is refused, and its server keeps running", async () => {
  const server = await start();
  await expect(start()).rejects.toThrow(/^The embedded Postgres cannot start: another process is using /);
  expect(await ask(server, "select 1 as one")).toEqual([{ one: 1 }]);
  await server.stop();
});

test("a server that died leaves nothing that prevents the next start", async () => {
  const server = await start();
  const notes = await readFile(join(folder, "data/postmaster.pid"), "utf8");
  await server.stop();
  await writeFile(join(folder, "data/postmaster.pid"), notes);
  await (await start()).stop();
  // its process id now belongs to another program
  await writeFile(join(folder, "data/postmaster.pid"), notes.replace(/^\d+/, String(process.pid)));
  await (await start()).stop();
});

test("a failed start is reported in one line", async () => {
  await (await start()).stop();
  await writeFile(join(folder, "data/postgresql.conf"), "max_connections = many\n");
  await expect(start()).rejects.toThrow(/^The embedded Postgres cannot start: .*postgresql\.conf.*$/);
});
