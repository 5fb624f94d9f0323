import { execFile, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { appendFile, chown, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe } from "@jest/globals";
import type pg from "pg";
import { freezeAll } from "./freeze.js";
import { askUntil } from "./own-postgres.js";
import { serverFolder } from "./server-folder.js";
import { until } from "./until.js";
import { freePort } from "../../scripts/free-port.js";

const INSTALLATIONS = "/usr/lib/postgresql";
const NEEDED = ["initdb", "pg_basebackup", "pg_ctl", "pg_dump", "pg_restore", "psql"];

/** The folder of the newest installed Postgres with all its programs; that of the npm package has no pg_dump. */
const programs = (existsSync(INSTALLATIONS) ? readdirSync(INSTALLATIONS) : [])
  .toSorted((one, other) => Number(other) - Number(one))
  .map((version) => join(INSTALLATIONS, version, "bin"))
  .find((folder) => NEEDED.every((program) => existsSync(join(folder, program))));

/** A suite that needs Postgres's own programs; without them it is reported as skipped. */
export const describeWithPgDump: (name: string, suite: () => void) => void = (name, suite) =>
  programs === undefined ? describe.skip(`${name} (no PostgreSQL in ${INSTALLATIONS})`, suite) : describe(name, suite);

const PASSWORD = "pass word/?";
const addressOf = (port: number) => `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`;

/** A server of the installed Postgres, for one test file. */
export interface InstalledPostgres {
  /** A superuser's connection string for an empty database. */
  url: string;
  /** The folder of pg_dump, pg_restore and psql of the server's version. */
  programs: string;
  /** Runs a statement as soon as the server is there for it. */
  ask: <Row extends pg.QueryResultRow>(text: string) => Promise<Row[]>;
  /** Kills the whole server, as the kernel does when memory runs out. */
  kill(): Promise<void>;
  /** Suspends all its processes; the returned function lets them continue. */
  freeze(): Promise<() => void>;
  /** Copies it to another port, where the copy follows it. From then on a commit is acknowledged when the copy has it. */
  copy(port?: number): Promise<InstalledPostgres>;
  /** Stops the server, calls `meanwhile`, and starts it again as a standby of `primary`. */
  follow(primary: InstalledPostgres, meanwhile: () => Promise<void>): Promise<void>;
  /** Makes a standby the primary; resolves when it is. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** Prepares an empty folder for a server. */
async function place() {
  if (programs === undefined) throw new Error("this machine has no Postgres");
  const { folder, remove } = await serverFolder();
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, PASSWORD);
  const id = (flag: string) => Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  // Postgres refuses to run as root
  const account = process.getuid?.() === 0 ? { uid: id("-u"), gid: id("-g") } : undefined;
  if (account) await Promise.all([folder, passwordFile].map((path) => chown(path, account.uid, account.gid)));
  const run = (program: string, args: string[]) =>
    promisify(execFile)(join(programs, program), args, { ...account, cwd: folder, env: { LC_ALL: "C" } });
  return { folder, data: join(folder, "data"), passwordFile, programs, run, remove };
}

/** Starts an empty server. Set `process.env.DATABASE_URL` to its `url` before importing anything that reads the configuration. */
export async function startInstalledPostgres(): Promise<InstalledPostgres> {
  const server = await place();
  const superuser = ["-U", "postgres", "--auth=scram-sha-256", `--pwfile=${server.passwordFile}`];
  await server.run("initdb", ["-D", server.data, ...superuser, "--encoding=UTF8", "--no-sync"]);
  return start(server, await freePort());
}

async function start(server: Awaited<ReturnType<typeof place>>, port: number): Promise<InstalledPostgres> {
  const { folder, data, run } = server;
  const url = addressOf(port);
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=200`;
  const control = (action: string, ...args: string[]) =>
    run("pg_ctl", [action, "-w", "-D", data, "-l", join(folder, "log"), ...args]);
  await control("start", "-o", settings);
  const ask = <Row extends pg.QueryResultRow>(text: string) => askUntil<Row>(url, text);
  const mainProcess = async () => Number((await readFile(join(data, "postmaster.pid"), "utf8")).split("\n")[0]);
  return {
    url,
    programs: server.programs,
    ask,
    kill: async () => void process.kill(await mainProcess(), "SIGKILL"),
    freeze: async () => freezeAll(await mainProcess()),
    copy: async (ownPort) => {
      const copied = await place();
      await copied.run("pg_basebackup", ["-D", copied.data, "-d", url, "-R", "-c", "fast", "--no-sync"]);
      const copy = await start(copied, ownPort ?? (await freePort()));
      await ask("alter system set synchronous_standby_names = '*'");
      await ask("select pg_reload_conf()");
      await until(async () => (await ask("select from pg_stat_replication where sync_state = 'sync'")).length > 0);
      return copy;
    },
    follow: async (primary, meanwhile) => {
      await control("stop", "-m", "fast");
      await meanwhile();
      const { port: at } = new URL(primary.url);
      const conninfo = `host=127.0.0.1 port=${at} user=postgres password=''${PASSWORD}''`;
      await appendFile(join(data, "postgresql.auto.conf"), `primary_conninfo = '${conninfo}'\n`);
      await writeFile(join(data, "standby.signal"), "");
      await control("start", "-o", settings);
    },
    promote: async () => {
      await ask("select pg_promote()");
    },
    stop: server.remove,
  };
}
