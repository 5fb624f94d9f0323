import { spawn, spawnSync } from "node:child_process";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "@jest/globals";
import { scratchFolder } from "./scratch.js";
import { ended } from "./processes.js";
import { freePort } from "../../scripts/free-port.js";

const available = spawnSync("pgbouncer", ["--version"]).status === 0;

/** A suite that needs PgBouncer; without it it is reported as skipped. */
export const describeWithPgbouncer: (name: string, suite: () => void) => void = (name, suite) =>
  available ? describe(name, suite) : describe.skip(`${name} (no pgbouncer on the PATH)`, suite);

/** Starts a pooler in front of a database; it drops the parameters of `dropped` and refuses others that it does not know. */
export async function startPgbouncer(databaseUrl: string, mode: string, dropped: string) {
  const database = new URL(databaseUrl);
  const folder = await scratchFolder("pgbouncer");
  const port = await freePort();
  const [users, settings] = [join(folder, "users"), join(folder, "settings")];
  await writeFile(users, `"${database.username}" "${database.password}"\n`);
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
${dropped && `ignore_startup_parameters = ${dropped}`}
`,
  );
  await Promise.all([chmod(folder, 0o755), chmod(users, 0o644), chmod(settings, 0o644)]);
  // it refuses to run as root
  const id = (flag: string) => Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  const account = process.getuid?.() === 0 ? { uid: id("-u"), gid: id("-g") } : {};
  const child = spawn("pgbouncer", [settings], { ...account, stdio: ["ignore", "ignore", "pipe"] });
  for await (const text of child.stderr) if (String(text).includes("process up")) break;
  child.stderr.resume();
  if (child.exitCode !== null) throw new Error(`pgbouncer ended with code ${child.exitCode}`);
  return {
    url: Object.assign(new URL(database), { port }).href,
    stop: async () => {
      child.kill("SIGKILL");
      await ended(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
