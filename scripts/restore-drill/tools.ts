import { execFile } from "node:child_process";

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

/** Says in libpq's words how to check the server: without `sslrootcert` this service trusts the public authorities. */
function forLibpq(url: URL): void {
  const { searchParams } = url;
  searchParams.delete("uselibpqcompat");
  if (searchParams.get("sslmode") === "no-verify") {
    searchParams.set("sslmode", "require");
    searchParams.delete("sslrootcert");
  }
  if (searchParams.get("sslmode") === "verify-full" && !searchParams.has("sslrootcert"))
    searchParams.set("sslrootcert", "system");
}

/** The address without its password, which other users of the machine would see in the list of processes. */
function addressed(databaseUrl: string): { address: string; env: NodeJS.ProcessEnv } {
  const url = new URL(databaseUrl);
  const password = decodeURIComponent(url.password);
  url.password = "";
  if (url.searchParams.has("sslmode")) forLibpq(url);
  return { address: url.href, env: password === "" ? {} : { PGPASSWORD: password } };
}

/** Dumps the database as the transaction sees it that exported `snapshot`. */
export async function dump(databaseUrl: string, snapshot: string, file: string, signal: AbortSignal): Promise<void> {
  const { address, env } = addressed(databaseUrl);
  const options = ["--format=custom", "--no-owner", `--snapshot=${snapshot}`, `--file=${file}`];
  await run("pg_dump", [...options, `--dbname=${address}`], env, signal);
}

/**
 * Restores as much as possible into an empty database; returns the error that pg_restore reported, if any. An error alone
 * means little: a pg_restore newer than the server sets parameters that the server does not know.
 */
export async function restore(databaseUrl: string, file: string, signal: AbortSignal): Promise<string | undefined> {
  const { address, env } = addressed(databaseUrl);
  try {
    await run("pg_restore", ["--no-owner", `--dbname=${address}`, file], env, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof Error ? error.message : String(error);
  }
}
