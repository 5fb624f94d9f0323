import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../free-port.js";

const { stdout } = spawnSync("pgbouncer", ["--version"], { encoding: "utf8" });
const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout) ?? [];

/** The version of the PgBouncer on the PATH, such as 1.24; null when there is none. */
export const pgbouncerVersion = major === undefined || minor === undefined ? null : `${major}.${minor}`;
/** Whether it keeps prepared statements, as 1.21 and later can. */
export const keepsPrepared = Number(major) > 1 || Number(minor) >= 21;

/** A pooler in front of a server. */
export interface Pooler {
  /** The server's address through the pooler. */
  url: string;
  /** Of its process. */
  readonly pid: number | undefined;
  /** Kills it: its clients and its sessions with the server are cut. */
  kill(): Promise<void>;
  /** Starts it again at the same address. */
  restart(): Promise<void>;
  /** Suspends it, with its connections open. */
  freeze(): void;
  thaw(): void;
}

export interface PoolerOptions {
  mode?: "transaction" | "session";
  /** Parameters of new sessions that it drops; it refuses others that it does not know. */
  dropped?: string;
  /** How many sessions with the server it shares among its clients. */
  sessions?: number;
  /** How long it keeps one that nobody uses. */
  idleSeconds?: number;
}

/** Starts a pooler in front of a database, with its settings in an empty folder. */
export async function launchPgbouncer(
  databaseUrl: string,
  folder: string,
  { mode = "transaction", dropped = "", sessions = 20, idleSeconds = 600 }: PoolerOptions = {},
): Promise<Pooler> {
  const database = new URL(databaseUrl);
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
server_idle_timeout = ${idleSeconds}
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
  return {
    url: Object.assign(new URL(database), { hostname: "127.0.0.1", port }).href,
    get pid() {
      return child.pid;
    },
    kill: async () => {
      const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
      child.kill("SIGKILL");
      await exited;
    },
    restart: async () => {
      child = await launch();
    },
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
  };
}
