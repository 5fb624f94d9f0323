import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { rootCertificates } from "node:tls";

const firstLines = (text: string) => text.trim().split("\n").slice(0, 3).join(" ");

/** Runs one of Postgres's programs; rejects with its first error lines, joined into one. */
function run(program: string, args: string[], env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<string> {
  return new Promise((done, fail) => {
    const options = { env: { ...process.env, ...env, LC_ALL: "C" }, signal, maxBuffer: Infinity };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (!error) done(stdout);
      else if (error.code === "ENOENT")
        fail(new Error(`There is no ${program} on the PATH: install PostgreSQL's client programs.`));
      else fail(new Error(`${program} failed: ${firstLines(stderr) || error.message}`));
    });
  });
}

async function majorVersion(program: string, signal: AbortSignal): Promise<number> {
  const [, major] = / (\d+)/.exec(await run(program, ["--version"], {}, signal)) ?? [];
  return Number(major);
}

/** Rejects unless this machine's programs can dump and restore a server of the version `server`. */
export async function checkTools(server: number, signal: AbortSignal): Promise<void> {
  const [dump, restore] = [await majorVersion("pg_dump", signal), await majorVersion("pg_restore", signal)];
  if (dump < server)
    throw new Error(`pg_dump ${dump} is older than the server, which is ${server}: install a pg_dump of ${server}.`);
  if (restore < dump)
    throw new Error(`pg_restore ${restore} is older than pg_dump ${dump}: install both of one version.`);
}

/** Writes the authorities that Node.js trusts, for libpq: before version 16 it knows no `sslrootcert=system`. */
export async function writeAuthorities(file: string): Promise<void> {
  const extra = process.env["NODE_EXTRA_CA_CERTS"] ?? "";
  // Node.js goes on without a file that it cannot read
  const added = extra === "" ? "" : await readFile(extra, "utf8").catch(() => "");
  await writeFile(file, `${[...rootCertificates, added].join("\n")}\n`, { mode: 0o600 });
}

/** Says in libpq's words how to check the server: without `sslrootcert` this service trusts the public authorities. */
function forLibpq({ searchParams }: URL, authorities: string): NodeJS.ProcessEnv {
  searchParams.delete("uselibpqcompat");
  if (searchParams.get("sslmode") === "no-verify") {
    searchParams.set("sslmode", "require");
    searchParams.delete("sslrootcert");
  }
  if (searchParams.get("sslmode") !== "verify-full" || (searchParams.get("sslrootcert") ?? "system") !== "system")
    return {};
  searchParams.delete("sslrootcert");
  return { PGSSLROOTCERT: authorities };
}

/** The address without its password, which other users of the machine would see in the list of processes. */
function addressed(databaseUrl: string, authorities: string): { address: string; env: NodeJS.ProcessEnv } {
  const url = new URL(databaseUrl);
  const password = decodeURIComponent(url.password);
  url.password = "";
  const env = url.searchParams.has("sslmode") ? forLibpq(url, authorities) : {};
  return { address: url.href, env: password === "" ? env : { ...env, PGPASSWORD: password } };
}

/** How one of Postgres's programs reaches a database. */
interface Reach {
  databaseUrl: string;
  /** The file of `writeAuthorities`. */
  authorities: string;
  signal: AbortSignal;
}

/** Dumps the database as the transaction sees it that exported `snapshot`. */
export async function dump({ databaseUrl, authorities, signal }: Reach, snapshot: string, file: string): Promise<void> {
  const { address, env } = addressed(databaseUrl, authorities);
  const options = ["--format=custom", "--no-owner", `--snapshot=${snapshot}`, `--file=${file}`];
  await run("pg_dump", [...options, `--dbname=${address}`], env, signal);
}

/**
 * Restores as much as possible into an empty database; returns the error that pg_restore reported, if any. An error alone
 * means little: a pg_restore newer than the server sets parameters that the server does not know.
 */
export async function restore({ databaseUrl, authorities, signal }: Reach, file: string): Promise<string | undefined> {
  const { address, env } = addressed(databaseUrl, authorities);
  try {
    await run("pg_restore", ["--no-owner", `--dbname=${address}`, file], env, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof Error ? error.message : String(error);
  }
}
