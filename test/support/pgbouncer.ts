import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "@jest/globals";
import { scratchFolder } from "./scratch.js";
import { ended } from "./processes.js";
import { freePort } from "../../scripts/free-port.js";

const { stdout: version } = spawnSync("pgbouncer", ["--version"], { encoding: "utf8" });
const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(version) ?? [];

/** Whether this machine has PgBouncer. */
export const pgbouncerAvailable = major !== undefined;
/** Whether it keeps prepared statements, as 1.21 and later can. */
export const keepsPrepared = Number(major) > 1 || Number(minor) >= 21;

/** A suite that needs PgBouncer; without it it is reported as skipped. */
export const describeWithPgbouncer: (name: string, suite: () => void) => void = (name, suite) =>
  pgbouncerAvailable ? describe(name, suite) : describe.skip(`${name} (no pgbouncer on the PATH)`, suite);

/** A pooler in front of a server. */
export interface Pooler {
  /** The server's address through the pooler. */
  url: string;
  /** Kills it: its clients and its sessions with the server are cut. */
  kill(): Promise<void>;
  /** Starts it again at the same address. */
  restart(): Promise<void>;
  /** Suspends it, with its connections open. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export interface PoolerOptions {
  mode?: "transaction" | "session";
  /** Parameters of new sessions that it drops; it refuses others that it does not know. */
  dropped?: string;
  /** How many sessions with the server it shares among its clients. */
  sessions?: number;
}

/** Starts a pooler in front of a database. */
export async function startPgbouncer(
  databaseUrl: string,
  { mode = "transaction", dropped = "", sessions = 20 }: PoolerOptions = {},
): Promise<Pooler> {
  const database = new URL(databaseUrl);
  const folder = await scratchFolder("pgbouncer");
  const port = await freePort();
  const [users, settings] = [join(folder, "users"), join(folder, "settings")];
  await writeFile(users, `"${decodeURIComponent(database.username)}" "${decodeURIComponent(database.password)}"\n`);
  await writeFile(
    settings,
    `[databases]
* = host=${database.hostname} port=${database.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = ${sessions}
max_client_conn = 1000
# a server that was away is tried again soon
server_login_retry = 1
${dropped && `ignore_startup_parameters = ${dropped}`}
${keepsPrepared ? "max_prepared_statements = 200" : ""}
`,
  );
  await Promise.all([chmod(folder, 0o755), chmod(users, 0o644), chmod(settings, 0o644)]);
  // it refuses to run as root
  const id = (flag: string) => Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  const account = process.getuid?.() === 0 ? { uid: id("-u"), gid: id("-g") } : {};

  async function launch(): Promise<ChildProcess> {
    const started = spawn("pgbouncer", [settings], { ...account, stdio: ["ignore", "ignore", "pipe"] });
    for await (const text of started.stderr) if (String(text).includes("process up")) break;
    started.stderr.resume();
    if (started.exitCode !== null) throw new Error(`pgbouncer ended with code ${started.exitCode}`);
    return started;
  }
  let child = await launch();
  const kill = async () => {
    child.kill("SIGKILL");
    await ended(child);
  };
  return {
    url: Object.assign(new URL(database), { hostname: "127.0.0.1", port }).href,
    kill,
    restart: async () => {
      child = await launch();
    },
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
