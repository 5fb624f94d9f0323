import { execFile } from "node:child_process";
import { chown, cp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";

/** Keeps the log that the standby has not read. */
const SLOT = "standby";

/** Files of the running server that are no part of a copy, and folders whose contents are not: its log is streamed. */
const LEFT_OUT = ["postmaster.pid", "postmaster.opts"];
const EMPTIED = ["pg_wal", "pg_replslot"];

/**
 * Copies a running server's files into another folder, so that a server that starts there follows it as a standby. By Postgres's
 * functions for backups, because the embedded server comes without pg_basebackup.
 */
export async function copyAsStandby({ folder, url }: { folder: string; url: string }, to: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("select pg_drop_replication_slot(slot_name) from pg_replication_slots");
    await client.query("select pg_create_physical_replication_slot($1, true)", [SLOT]);
    await client.query("select pg_backup_start('standby', true)");
    // keeps owners and modes; files that vanish meanwhile are no longer needed
    await promisify(execFile)("cp", ["-a", join(folder, "data"), to]).catch(() => undefined);
    const { rows } = await client.query<{ label: string }>("select labelfile as label from pg_backup_stop(false)");
    const data = join(to, "data");
    const contents = await Promise.all(
      EMPTIED.map(async (name) => (await readdir(join(data, name))).map((file) => join(name, file))),
    );
    const unwanted = [...LEFT_OUT, ...contents.flat()];
    await Promise.all(unwanted.map((name) => rm(join(data, name), { recursive: true, force: true })));
    const { hostname, port, username, password } = new URL(url);
    const primary = `host=${hostname} port=${port} user=${username} password=${decodeURIComponent(password)}`;
    const settings = [
      `primary_conninfo = '${primary}'`,
      `primary_slot_name = '${SLOT}'`,
      "synchronous_standby_names = ''",
      "wal_retrieve_retry_interval = 100",
      "full_page_writes = on",
    ];
    const files = {
      backup_label: rows[0]?.label ?? "",
      "standby.signal": "",
      "postgresql.auto.conf": settings.join("\n"),
    };
    const { uid, gid } = await stat(data);
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(data, name), text);
      await chown(join(data, name), uid, gid);
    }
    await cp(join(folder, "password"), join(to, "password"));
  } finally {
    await client.end();
  }
}
