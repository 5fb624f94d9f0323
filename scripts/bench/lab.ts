import { execFile, fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { newCredentialsKey, newSigningKey, parseSigningKeys } from "../../lib/process/keys.js";
import { migrate } from "../../sql/migrate.js";
import { bundlePackages } from "../bundle-packages.js";
import { copyAssets } from "../copy-assets.js";
import { startEmbeddedPostgres } from "../embedded-postgres.js";
import { asProgram, endChild, measured, type Measured, type Program } from "./program.js";
import { freePort } from "../free-port.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The test bed: its own Postgres, its own Redis where `redis-server` is installed, and the compiled service. */
export interface Lab {
  databaseUrl: string;
  /** Null on a machine without `redis-server`. */
  redisUrl: string | null;
  postgres: Measured;
  redis: Measured | null;
  /** Starts a compiled program, such as `api/server`, in its own process, as production does. */
  start(path: string, env?: NodeJS.ProcessEnv, args?: readonly string[]): Promise<Program>;
  /** Runs what `npm start` runs, with its data in a folder of this name, until it has greeted. */
  startEverything(folder: string): Promise<Program>;
  /** Stops all programs, so that the next measurement has the machine to itself. */
  stopPrograms(): Promise<void>;
}

type Stop = () => Promise<unknown>;

/** Compiles the service as for production, and the benchmarks with it, since `tsx` adds code to functions that would be measured too. */
async function build(folder: string): Promise<void> {
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  const options = ["-p", join(ROOT, "scripts/bench/tsconfig.build.json"), "--noCheck", "--outDir", folder];
  await promisify(execFile)(process.execPath, [compiler, ...options]);
  await bundlePackages(folder);
  await copyAssets(folder);
  await copyFile(join(ROOT, "package.json"), join(folder, "package.json"));
  await symlink(join(ROOT, "node_modules"), join(folder, "../node_modules"), "dir");
}

/** The flags that the Procfile gives node for a program; others, such as one that it is compared with, get those of `web`. */
async function nodeFlagsOf(path: string): Promise<string[]> {
  const procfile = await readFile(join(ROOT, "Procfile"), "utf8");
  const commands = [...procfile.matchAll(/^(\w+): node (.+) dist\/(.+)\.js$/gm)];
  const [, , flags] =
    commands.find(([, , , program]) => program === path) ?? commands.find(([, name]) => name === "web") ?? [];
  if (flags === undefined) throw new Error("the Procfile names no flags of node");
  return flags.split(" ");
}

/** Waits for a line with this text in the output of a process, and reads on. */
const untilSaid = (output: Readable, text: string) =>
  new Promise<void>((resolve, reject) => {
    const lines = createInterface({ input: output });
    lines.on("line", (line) => (line.includes(text) ? resolve() : undefined));
    lines.once("close", () => reject(new Error(`a process ended before it said "${text}"`)));
  });

async function startRedis(folder: string): Promise<{ url: string; process: Measured; stop: Stop } | null> {
  if (spawnSync("redis-server", ["--version"]).status !== 0) return null;
  const port = await freePort();
  const settings = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  const redis = spawn("redis-server", settings, { stdio: ["ignore", "pipe", "inherit"] });
  await untilSaid(redis.stdout, "Ready to accept connections");
  return { url: `redis://127.0.0.1:${port}`, process: measured(redis.pid), stop: () => endChild(redis) };
}

/** Sets the lab up, runs `work` in it, and always takes it down again; `signal` ends it early. */
export async function withLab(
  signal: AbortSignal,
  work: (lab: Lab) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const stops: Stop[] = [];
  try {
    const folder = await mkdtemp(join(tmpdir(), "surplus-food-bench-"));
    stops.push(() => rm(folder, { recursive: true, force: true }));
    const compiled = join(folder, "build");
    await build(compiled);

    const postgres = await startEmbeddedPostgres({
      folder: join(folder, "postgres"),
      settings: { max_connections: "800", ...settings },
    });
    stops.push(() => postgres.stop());
    await migrate(postgres.url);
    const redis = await startRedis(folder);
    if (redis) stops.push(redis.stop);

    const signingKeys = newSigningKey();
    const publicKey = parseSigningKeys(signingKeys)?.[0]?.publicKey.export({ type: "spki", format: "pem" });
    const environment = {
      PATH: process.env["PATH"],
      NODE_ENV: "production",
      HOST: "127.0.0.1",
      PUBLIC_URL: "https://bench.test",
      DATABASE_URL: postgres.url,
      STORAGE_DIR: join(folder, "files"),
      SIGNING_KEYS: signingKeys,
      PUBLIC_KEY: String(publicKey),
      CREDENTIALS_KEYS: newCredentialsKey(),
      SMS_SENDER: "http",
      SMS_HTTP_URL: "http://127.0.0.1:9",
      METRICS_TOKEN: "measured",
      // requests are counted as in production, but never exceed the limits
      RATE_LIMIT_USER: "1000000",
      RATE_LIMIT_ADDRESS: "1000000",
      ORDERS_OPEN_MAX: "1000000",
    };
    // for the service's modules that this process imports
    Object.assign(process.env, environment);

    const programs = new Set<Program>();
    const stopPrograms = async () => {
      await Promise.all([...programs].map((program) => program.stop()));
      programs.clear();
    };
    stops.push(stopPrograms);
    const start = async (path: string, env: NodeJS.ProcessEnv = {}, args: readonly string[] = []) => {
      signal.throwIfAborted();
      const stdio: ["ignore", "ignore", "inherit", "ipc"] = ["ignore", "ignore", "inherit", "ipc"];
      const port = await freePort();
      const given = { ...environment, PORT: String(port), ...env };
      const child = fork(join(compiled, `${path}.js`), args, { env: given, execArgv: await nodeFlagsOf(path), stdio });
      const program = await asProgram(path, child, port);
      programs.add(program);
      return program;
    };
    const startEverything = async (name: string) => {
      signal.throwIfAborted();
      const dataFolder = join(folder, name);
      await mkdir(dataFolder, { recursive: true });
      const port = await freePort();
      const child = spawn(process.execPath, ["--enable-source-maps", join(ROOT, "scripts/start-compiled.js")], {
        // where no .env is
        cwd: dataFolder,
        env: { PATH: process.env["PATH"], DATA_DIR: dataFolder, PORT: String(port), LOG_LEVEL: "warn" },
        stdio: ["ignore", "pipe", "inherit"],
      });
      stops.push(() => endChild(child));
      return asProgram("npm start", child, port, untilSaid(child.stdout, "Ctrl-C"));
    };
    const aborted = once(signal, "abort").then(() => signal.throwIfAborted());
    const postmaster = await readFile(join(folder, "postgres/data/postmaster.pid"), "utf8");
    const lab = {
      databaseUrl: postgres.url,
      redisUrl: redis?.url ?? null,
      postgres: measured(Number.parseInt(postmaster, 10)),
      redis: redis?.process ?? null,
      start,
      startEverything,
      stopPrograms,
    };
    await Promise.race([work(lab), aborted]);
  } finally {
    for (const stop of stops.reverse()) {
      await stop().catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
    }
  }
}
