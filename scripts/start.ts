import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { extname, join } from "node:path";
import { parseEnv } from "node:util";
import { readConfig, type Config } from "../lib/process/environment.js";
import { withTimeout } from "../lib/process/with-timeout.js";
import { newCredentialsKey, newSigningKey } from "../lib/process/keys.js";
import { newVapidKeys } from "../lib/process/push-keys.js";
import { migrate } from "../sql/migrate.js";
import { startEmbeddedPostgres } from "./embedded-postgres.js";
import { NotStarted, supervise, type Supervised } from "./supervise.js";

/**
 * Everything on one machine: Postgres unless DATABASE_URL names one, its schema, the API and the workers, until a
 * signal ends them all. What is missing in the environment is made for development and, where it must last, kept in
 * DATA_DIR.
 */

const READY_LIMIT_MS = 60_000;
/** Postgres gets this long to start, as it cannot be stopped before, and to stop. */
const STOP_LIMIT_MS = 30_000;
/** Ctrl-C reaches this process from the terminal and once more through npm: within this time that is one signal. */
const SAME_SIGNAL_MS = 500;

/** Conveniences that production must not have; with a code that everybody knows, only this machine may reach the API. */
const developmentDefaults = {
  ADMIN_PHONES: "+79990000000",
  OTP_FIXED_CODE: "000000",
  HOST: "127.0.0.1",
  // whatever stands in for others is on the same machine
  ALLOW_PRIVATE_ADDRESSES: "1",
};

const newKeys = () => ({
  SIGNING_KEYS: newSigningKey(),
  CREDENTIALS_KEYS: newCredentialsKey(),
  ...newVapidKeys(),
});

/** Only whole pairs are taken from what was made here: a key of one's own needs its own other half. */
const isVapid = (name: string) => name.startsWith("VAPID_");

/** Writes variables to a file that only this user may read, whole or not at all. */
async function keep(folder: string, name: string, variables: Record<string, string>): Promise<void> {
  const file = join(folder, name);
  const lines = Object.entries(variables).map(([variable, value]) => `${variable}='${value}'\n`);
  await writeFile(`${file}.new`, lines, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/**
 * The keys that were made at the first start, or by the first version that needs them; without them nobody would stay
 * logged in, secrets would be lost and browsers would hear nothing any more.
 */
async function keptKeys(folder: string): Promise<Record<string, string>> {
  const file = join(folder, "keys.env");
  const known = existsSync(file) ? parseEnv(await readFile(file, "utf8")) : {};
  const keys = { ...newKeys(), ...known };
  if (Object.keys(known).length < Object.keys(keys).length) await keep(folder, "keys.env", keys);
  return keys;
}

/** What is given, with keys behind it. */
function withKeys(keys: Record<string, string>, given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const ownVapid = Object.keys(given).some(isVapid);
  const needed = Object.entries(keys).filter(([name]) => !(ownVapid && isVapid(name)));
  return { ...Object.fromEntries(needed), ...given };
}

function whyNot(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") return `PORT ${port} is in use by another program.`;
  if (code === "EACCES") return `PORT ${port} may not be used by this user.`;
  return `HOST ${host} is no address of this machine.`;
}

/** Checks that the API will be able to listen; answers the port, which is a free one when PORT is 0. */
async function checkPort({ HOST, PORT }: Config): Promise<number> {
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

/** What of the environment is given, by the shell or else by a file `.env`, with development's defaults behind it. */
function givenEnvironment(): NodeJS.ProcessEnv {
  if (existsSync(".env")) process.loadEnvFile(".env");
  const pretty = process.stdout.isTTY ? { LOG_PRETTY: "1" } : {};
  const defaults = process.env["NODE_ENV"] === "production" ? {} : developmentDefaults;
  const all = { ...pretty, ...defaults, ...process.env };
  // an empty value counts as none, and switches a default off
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new Error(`DATA_DIR cannot be used: ${messageOf(error)}`, { cause: error });
  });
}

async function prepareDatabase(url: string): Promise<void> {
  await migrate(url);
  // reads the configuration when it is imported, so not before the environment is complete
  const broker = await import("../queues/broker.js");
  await broker.prepareBroker();
  await broker.closeBroker();
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
    ["Stop", "Ctrl-C"],
  ];
  return `\nThe marketplace is open.\n\n${lines.map(([name = "", value]) => `  ${name.padEnd(10)} ${value}\n`).join("")}\n`;
}

const messageOf = (error: unknown) => (error instanceof Error && error.message) || String(error);

/** What has been started, in order; stopping goes through it backwards. */
const stops: (() => Promise<unknown>)[] = [];
const processes: Supervised[] = [];

async function start(signal: AbortSignal): Promise<void> {
  const given = givenEnvironment();
  // every wrong variable is named before anything is started, so with stand-ins for what is made later
  const config = readConfig({ DATABASE_URL: "postgres://embedded", ...withKeys(newKeys(), given) });
  const port = await checkPort(config);
  await makeFolder(config.DATA_DIR);
  signal.throwIfAborted();

  let databaseUrl = given["DATABASE_URL"];
  if (!databaseUrl) {
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
    databaseUrl = (await starting).url;
    signal.throwIfAborted();
  }
  const variables = withKeys(await keptKeys(config.DATA_DIR), given);
  Object.assign(process.env, variables, { DATABASE_URL: databaseUrl, PORT: String(port) });
  await prepareDatabase(databaseUrl);
  // scripts that are run by hand look here; until now it names the database of a service that may still run
  await keep(config.DATA_DIR, "database.env", { DATABASE_URL: databaseUrl });
  signal.throwIfAborted();

  const program = (path: string) => new URL(`../${path}${extname(import.meta.url)}`, import.meta.url);
  processes.push(supervise("API", program("api/server"), process.env));
  processes.push(supervise("worker", program("workers/main"), process.env));
  stops.push(() => Promise.all(processes.map((process) => process.stop())));
  await Promise.all(processes.map(({ up }) => up));

  const host = ["0.0.0.0", "::", "127.0.0.1"].includes(config.HOST) ? "localhost" : config.HOST;
  const local = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  await untilReady(local);
  signal.throwIfAborted();
  process.stdout.write(greeting(config, given["PUBLIC_URL"] ? config.PUBLIC_URL : local));
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
