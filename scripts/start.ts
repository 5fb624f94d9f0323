import "./command.js";
import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { folderFault } from "../lib/process/folders.js";
import { PRIVATE_ORIGINS } from "../lib/process/origins.js";
import { readConfig, type Config } from "../lib/process/read-config.js";
import { withTimeout } from "../lib/process/with-timeout.js";
import { newCredentialsKey, newSigningKey } from "../lib/process/keys.js";
import { newVapidKeys } from "../lib/process/push-keys.js";
import { migrate } from "../sql/migrate.js";
import { startEmbeddedPostgres } from "./embedded-postgres.js";
import { loadEnvFile } from "./load-env-file.js";
import { giveToService } from "./service-role.js";
import { NotStarted, supervise, type Supervised } from "./supervise.js";
import { watchSource } from "./watch.js";

/**
 * Runs everything on one machine until a signal: Postgres (unless DATABASE_URL names one), the migrations, the API and the
 * workers. Missing variables get development defaults; generated keys are kept in DATA_DIR. Run from source (`npm run dev`) it
 * restarts the API and the workers when that changes, and a debugger can attach to them.
 */

const READY_LIMIT_MS = 60_000;
/** How long Postgres may take to start and stop; it cannot be stopped before it has started. */
const STOP_LIMIT_MS = 30_000;
/** Ctrl-C reaches this process from the terminal and again through npm. Within this time the two count as one signal. */
const SAME_SIGNAL_MS = 500;

/** Shortcuts that production must not have. The login code is public, so only this machine may reach the API. */
const developmentDefaults = {
  NODE_ENV: "development",
  ADMIN_PHONES: "+79990000000",
  OTP_FIXED_CODE: "000000",
  HOST: "127.0.0.1",
  // an app's development server has a port, and so an origin, of its own
  CORS_ORIGINS: PRIVATE_ORIGINS,
  // stand-ins for third parties run on the same machine
  ALLOW_PRIVATE_ADDRESSES: "1",
};

const newKeys = () => ({
  SIGNING_KEYS: newSigningKey(),
  CREDENTIALS_KEYS: newCredentialsKey(),
  ...newVapidKeys(),
});

/** What this runs as: TypeScript by `npm run dev`, compiled by `npm start`. */
const extension = extname(import.meta.url);
const watching = extension === ".ts";
/** The ports where debuggers attach, on this machine only: Node's usual one, and the next. */
const debuggers = { API: 9_229, worker: 9_230 };
const LOOPBACK = "127.0.0.1";

/** VAPID keys are generated as a pair. When the environment has one half, the generated other half does not fit it. */
const isVapid = (name: string) => name.startsWith("VAPID_");

/** Writes variables atomically to a file that only this user may read. */
async function keep(folder: string, name: string, variables: Record<string, string>): Promise<void> {
  const file = join(folder, name);
  const lines = Object.entries(variables).map(([variable, value]) => `${variable}='${value}'\n`);
  await writeFile(`${file}.new`, lines, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/**
 * The keys that the first start generated, or the first version that needs them. With other keys every user would be
 * logged out, stored secrets would be unreadable and Web Push subscriptions would be void.
 */
async function keptKeys(folder: string): Promise<Record<string, string>> {
  const file = join(folder, "keys.env");
  const known = existsSync(file) ? parseEnv(await readFile(file, "utf8")) : {};
  const keys = { ...newKeys(), ...known };
  if (Object.keys(known).length < Object.keys(keys).length) await keep(folder, "keys.env", keys);
  return keys;
}

/** The given environment, with keys as defaults. */
function withKeys(keys: Record<string, string>, given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const ownVapid = Object.keys(given).some(isVapid);
  const needed = Object.entries(keys).filter(([name]) => !(ownVapid && isVapid(name)));
  return { ...Object.fromEntries(needed), ...given };
}

function whyNot(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") return `PORT ${port} is in use by another program; PORT=0 takes a free one.`;
  if (code === "EACCES") return `PORT ${port} may not be used by this user.`;
  return `HOST ${host} is no address of this machine.`;
}

/** Checks that the API will be able to listen; returns the port, which is a free one when PORT is 0. */
async function checkPort({ HOST, PORT }: Pick<Config, "HOST" | "PORT">): Promise<number> {
  const server = createServer();
  try {
    return await new Promise<number>((resolve, reject) => {
      server.once("error", reject);
      server.listen(PORT, HOST, () => {
        const address = server.address();
        resolve(typeof address === "object" && address ? address.port : PORT);
      });
    });
  } catch (error) {
    throw new Error(whyNot(error, HOST, PORT), { cause: error });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Takes free ports where others are in use, as by another checkout, and one API process, which serves all requests. */
async function prepareDebuggers(given: NodeJS.ProcessEnv): Promise<void> {
  const free = (PORT: number) => checkPort({ HOST: LOOPBACK, PORT });
  for (const name of ["API", "worker"] as const) debuggers[name] = await free(debuggers[name]).catch(() => free(0));
  given["WEB_CONCURRENCY"] = "1";
}

/** The environment of the shell, then of the file `.env`, then the development defaults. */
function givenEnvironment(): NodeJS.ProcessEnv {
  loadEnvFile(".env");
  const pretty = process.stdout.isTTY ? { LOG_PRETTY: "1" } : {};
  const defaults = process.env["NODE_ENV"] === "production" ? {} : developmentDefaults;
  // all processes are on this machine, so they share a folder
  const files = { STORAGE_DIR: resolve(process.env["DATA_DIR"] ?? ".data", "files") };
  const all = { ...pretty, ...files, ...defaults, ...process.env };
  // an empty value counts as unset, and switches a default off
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
}

async function checkFolders({ DATA_DIR, STORAGE_DIR, S3_BUCKET }: Config): Promise<void> {
  const folders = { DATA_DIR, ...(STORAGE_DIR !== undefined && S3_BUCKET === undefined && { STORAGE_DIR }) };
  for (const [name, folder] of Object.entries(folders)) {
    const fault = await folderFault(folder);
    if (fault !== null) throw new Error(`${name} ${folder} cannot be used: ${fault}`);
  }
}

async function untilReady(address: string): Promise<void> {
  const deadline = Date.now() + READY_LIMIT_MS;
  for (;;) {
    const answer = await fetch(`${address}/readyz`).catch(() => null);
    if (answer?.ok) return;
    if (Date.now() > deadline) throw new Error(`The API is not ready: ${answer ? await answer.text() : "no answer"}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function greeting(config: Config, address: string): string {
  const admin = config.ADMIN_PHONES[0];
  const login = [
    admin === undefined ? "" : `phone ${admin} is an admin, any other a customer`,
    config.OTP_FIXED_CODE === undefined ? "" : `the code is always ${config.OTP_FIXED_CODE}`,
    config.OTP_FIXED_CODE === undefined && config.SMS_SENDER === "log" ? "the code is in the log below" : "",
  ].filter(Boolean);
  const lines = [
    ["API", `${address}/api/v1`],
    ["Docs", `${address}/docs`],
    ["Dashboard", `${address}/admin/queues`],
    ...(login.length > 0 ? [["Log in", login.join("; ")]] : []),
    ...(config.CORS_ORIGINS.includes(PRIVATE_ORIGINS)
      ? [["Browsers", "pages on this machine and in private networks may call it (CORS_ORIGINS)"]]
      : []),
    ...(watching ? [["Debugger", `API ${LOOPBACK}:${debuggers.API}, worker ${LOOPBACK}:${debuggers.worker}`]] : []),
    ["Stop", "Ctrl-C"],
  ];
  return `\nThe marketplace is open.\n\n${lines.map(([name = "", value]) => `  ${name.padEnd(10)} ${value}\n`).join("")}\n`;
}

const messageOf = (error: unknown) => (error instanceof Error && error.message) || String(error);

/** Stops what has been started; run in reverse order. */
const stops: (() => Promise<unknown>)[] = [];
const processes: Supervised[] = [];

async function start(signal: AbortSignal): Promise<void> {
  const given = givenEnvironment();
  // reports every invalid variable before anything starts, so values that come later have placeholders
  const config = readConfig({ DATABASE_URL: "postgres://embedded", ...withKeys(newKeys(), given) });
  const port = await checkPort(config);
  await checkFolders(config);
  if (watching) await prepareDebuggers(given);
  signal.throwIfAborted();

  let databaseUrl = given["DATABASE_URL"];
  const directUrl = given["DATABASE_DIRECT_URL"];
  if (!databaseUrl) {
    if (directUrl) throw new Error("Wrong configuration: DATABASE_URL is missing; DATABASE_DIRECT_URL is set");
    const starting = startEmbeddedPostgres({ folder: join(config.DATA_DIR, "postgres") });
    stops.push(() =>
      withTimeout(
        STOP_LIMIT_MS,
        starting.then(
          (postgres) => postgres.stop(),
          () => undefined,
        ),
      ),
    );
    databaseUrl = await giveToService((await starting).url);
    signal.throwIfAborted();
  }
  const variables = withKeys(await keptKeys(config.DATA_DIR), given);
  Object.assign(process.env, variables, { DATABASE_URL: databaseUrl, PORT: String(port) });
  // it reads the configuration on import, so the environment must be complete by now
  const { prepareDatabase } = await import("./prepare-database.js");
  await prepareDatabase();
  // scripts that operators run read this file; until now it names the database of a service that may still run
  const { STORAGE_DIR = "", DATABASE_PREPARE = "" } = given;
  const host = ["0.0.0.0", "::", "127.0.0.1"].includes(config.HOST) ? "localhost" : config.HOST;
  const local = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  await keep(config.DATA_DIR, "database.env", {
    DATABASE_URL: databaseUrl,
    DATABASE_DIRECT_URL: directUrl ?? "",
    DATABASE_PREPARE,
    STORAGE_DIR,
    HOST: config.HOST,
    PORT: String(port),
    LOCAL_URL: local,
  });
  signal.throwIfAborted();

  const program = (path: string) => new URL(`../${path}${extension}`, import.meta.url);
  const run = (name: keyof typeof debuggers, path: string) => {
    const nodeOptions = watching ? [`--inspect=${LOOPBACK}:${debuggers[name]}`, "--inspect-publish-uid=http"] : [];
    processes.push(supervise(name, program(path), { env: process.env, nodeOptions }));
  };
  run("API", "api/server");
  run("worker", "workers/main");
  stops.push(() => Promise.all(processes.map((process) => process.stop())));
  await Promise.all(processes.map(({ up }) => up));
  await untilReady(local);
  signal.throwIfAborted();
  // before the greeting, after which any change counts
  if (watching) restartOnChange(directUrl || databaseUrl);
  process.stdout.write(greeting(config, given["PUBLIC_URL"] ? config.PUBLIC_URL : local));
}

/** Restarts the programs whenever their source changes; migrates first when SQL files have changed. */
function restartOnChange(databaseUrl: string): void {
  const root = fileURLToPath(new URL("../", import.meta.url));
  watchSource(root, ["api", "lib", "queues", "sql", "workers"], (files) => {
    process.stdout.write(`\n${files.join(", ")} changed; restarting.\n`);
    const migrated = files.some((file) => file.endsWith(".sql")) ? migrate(databaseUrl) : Promise.resolve();
    migrated.then(
      () => processes.forEach((process) => process.restart()),
      (error: unknown) => process.stderr.write(`${messageOf(error)}\n`),
    );
  });
}

const stopping = new AbortController();
const stopRequested = new Promise<void>((resolve) => {
  let firstAt: number | undefined;
  const handle = () => {
    if (firstAt !== undefined && Date.now() - firstAt > SAME_SIGNAL_MS) processes.forEach((process) => process.kill());
    firstAt ??= Date.now();
    stopping.abort();
    resolve();
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, handle);
});

try {
  await Promise.race([start(stopping.signal).then(() => stopRequested), stopRequested]);
} catch (error) {
  if (!(error instanceof NotStarted)) process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
for (const stop of stops.reverse()) {
  await stop().catch((error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 1;
  });
}
process.exit();
