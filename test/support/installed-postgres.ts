import { execFile, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { chown, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe } from "@jest/globals";
import { serverFolder } from "./server-folder.js";
import { freePort } from "../../scripts/free-port.js";

const INSTALLATIONS = "/usr/lib/postgresql";
const NEEDED = ["initdb", "pg_ctl", "pg_dump", "pg_restore", "psql"];

/** The folder of the newest installed Postgres with all its programs; that of the npm package has no pg_dump. */
const programs = (existsSync(INSTALLATIONS) ? readdirSync(INSTALLATIONS) : [])
  .toSorted((one, other) => Number(other) - Number(one))
  .map((version) => join(INSTALLATIONS, version, "bin"))
  .find((folder) => NEEDED.every((program) => existsSync(join(folder, program))));

/** A suite that needs Postgres's own programs; without them it is reported as skipped. */
export const describeWithPgDump: (name: string, suite: () => void) => void = (name, suite) =>
  programs === undefined ? describe.skip(`${name} (no PostgreSQL in ${INSTALLATIONS})`, suite) : describe(name, suite);

/** A server of the installed Postgres, for one test file. */
export interface InstalledPostgres {
  /** A superuser's connection string for an empty database. */
  url: string;
  /** The folder of pg_dump, pg_restore and psql of the server's version. */
  programs: string;
  stop(): Promise<void>;
}

/** Starts an empty server. Set `process.env.DATABASE_URL` to its `url` before importing anything that reads the configuration. */
export async function startInstalledPostgres(): Promise<InstalledPostgres> {
  if (programs === undefined) throw new Error("this machine has no Postgres");
  const { folder, remove } = await serverFolder();
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, "pass word/?");
  const id = (flag: string) => Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  // Postgres refuses to run as root
  const account = process.getuid?.() === 0 ? { uid: id("-u"), gid: id("-g") } : undefined;
  if (account) await Promise.all([folder, passwordFile].map((path) => chown(path, account.uid, account.gid)));
  const run = (program: string, args: string[]) =>
    promisify(execFile)(join(programs, program), args, { ...account, cwd: folder, env: { LC_ALL: "C" } });
  const data = join(folder, "data");
  const superuser = ["-U", "postgres", "--auth=scram-sha-256", `--pwfile=${passwordFile}`];
  await run("initdb", ["-D", data, ...superuser, "--encoding=UTF8", "--no-sync"]);
  const port = await freePort();
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`;
  await run("pg_ctl", ["start", "-w", "-D", data, "-l", join(folder, "log"), "-o", settings]);
  return { url: `postgres://postgres:pass%20word%2F%3F@127.0.0.1:${port}/postgres`, programs, stop: remove };
}
