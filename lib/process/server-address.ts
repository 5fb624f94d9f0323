import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { checkServerIdentity, type ConnectionOptions, type PeerCertificate } from "node:tls";
import { isNativeError } from "node:util/types";

/** Where Postgres is, and how its server is checked: the same for every library that connects. */
export interface ServerAddress {
  /** The address without the parameters that `tls` is made of. */
  readonly url: string;
  /** False: the connection is not encrypted. */
  readonly tls: false | ConnectionOptions;
}

/** Why an address cannot be used: what comes after the variable's name. It shows no value. */
export class UnusableAddress extends Error {
  override name = "UnusableAddress";
}

/** How the server is checked: libpq's modes, without those that leave it to the server whether to encrypt. */
const modes = ["disable", "no-verify", "require", "verify-ca", "verify-full"] as const;
type Mode = (typeof modes)[number];

/** The parameters that are read here; libraries must not read them again. */
export const parameters = ["sslmode", "sslrootcert", "sslcert", "sslkey", "uselibpqcompat", "channel_binding"] as const;
/** Parameters of other libraries for the same, which would be ignored or contradict. */
const others = ["ssl", "sslpassword", "sslcrl", "sslnegotiation", "requiressl", "tls"];

function readPem(parameter: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const code = isNativeError(error) && "code" in error ? String(error.code) : "unknown";
    throw new UnusableAddress(`names a file in ${parameter} that cannot be read (${code})`);
  }
}

/**
 * Returns what `mode` checks, as libpq does: `require` with a root certificate is `verify-ca`. Without `host` the certificate must
 * be for the host that the library connects to.
 */
function checks(mode: Exclude<Mode, "disable">, host: string | undefined, root: string | undefined): ConnectionOptions {
  if (mode === "no-verify" || (mode === "require" && root === undefined)) return { rejectUnauthorized: false };
  if (mode === "verify-ca" && root === undefined)
    throw new UnusableAddress("has verify-ca without sslrootcert: anyone can get a certificate of a public authority");
  if (mode !== "verify-full" && root === "system")
    throw new UnusableAddress("has sslrootcert=system, which needs sslmode=verify-full");
  return {
    rejectUnauthorized: true,
    ...(root !== undefined && root !== "system" && { ca: readPem("sslrootcert", root) }),
    checkServerIdentity: (name: string, certificate: PeerCertificate) =>
      mode === "verify-full" ? checkServerIdentity(host ?? name, certificate) : undefined,
  };
}

/** Reads how to encrypt the connection to `url`, or with `isList` those to all hosts of a list. */
export function readTls(url: URL, byDefault: Mode | undefined, isList = false): ServerAddress["tls"] {
  const given = Object.fromEntries(parameters.map((name) => [name, url.searchParams.get(name) ?? undefined]));
  const { sslrootcert, sslcert, sslkey } = given;
  if (others.some((name) => url.searchParams.has(name)))
    throw new UnusableAddress(`must say how to encrypt with sslmode, and without ${others.join(", ")}`);
  if (given["channel_binding"] === "require")
    throw new UnusableAddress("has channel_binding=require, which is not supported; sslmode=verify-full is as strict");
  const mode = given["sslmode"] === undefined ? byDefault : modes.find((name) => name === given["sslmode"]);
  if (mode === undefined)
    throw new UnusableAddress(
      given["sslmode"] === undefined
        ? "has a certificate and no sslmode"
        : `must have one of the sslmodes ${modes.join(", ")}`,
    );
  if (mode === "disable") return false;
  if ((sslcert === undefined) !== (sslkey === undefined)) throw new UnusableAddress("needs both of sslcert and sslkey");
  const host = isList ? undefined : (url.searchParams.get("host") ?? url.hostname.replace(/^\[|\]$/g, ""));
  return {
    ...checks(mode, host, sslrootcert),
    ...(host !== undefined && isIP(host) === 0 && { servername: host }),
    ...(sslcert !== undefined && { cert: readPem("sslcert", sslcert) }),
    ...(sslkey !== undefined && { key: readPem("sslkey", sslkey) }),
  };
}

function without(url: URL): string {
  const rest = new URL(url);
  // a query that is not changed keeps its encoding
  for (const name of parameters) if (rest.searchParams.has(name)) rest.searchParams.delete(name);
  return rest.href;
}

export const DATABASE_EXAMPLE = "postgres://user:password@host:5432/name";

/**
 * Returns the address of each server of an address such as postgres://user@one:5432,two:5432/name; throws UnusableAddress. `URL`
 * knows one server only.
 */
export function splitServers(text: string): string[] {
  const [, before, hosts = "", after = ""] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is.exec(text) ?? [];
  const names = hosts.split(",");
  const addresses = names.map((name) => `${before ?? ""}${name}${after}`);
  if (names.length > 1 && names.includes("")) throw new UnusableAddress("has a comma and no server beside it");
  if (before === undefined || !addresses.every((address) => URL.canParse(address)))
    throw new UnusableAddress(`must be an address such as ${DATABASE_EXAMPLE}`);
  return addresses;
}

/** Reads the address of each server in DATABASE_URL; throws UnusableAddress. Without `sslmode` connections are not encrypted. */
export const readServers = (text: string): ServerAddress[] => splitServers(text).map(readServer);

/** Reads DATABASE_URL as `readServers` does; of several servers it returns the first. */
export function readDatabaseUrl(text: string): ServerAddress {
  const [first] = readServers(text);
  if (first === undefined) throw new UnusableAddress("names no server");
  return first;
}

/** The sessions that `target_session_attrs` may ask for: those that this service looks for anyway. */
const TARGETS = ["read-write", "primary"];

function readServer(text: string): ServerAddress {
  const url = new URL(text);
  const target = url.searchParams.get("target_session_attrs");
  if (target !== null && !TARGETS.includes(target))
    throw new UnusableAddress(`may have target_session_attrs=${TARGETS.join(" or ")} only: the service writes`);
  if (url.searchParams.get("host")?.includes(",") === true)
    throw new UnusableAddress("must name several servers as in postgres://user@one:5432,two:5432/name");
  if (target !== null) url.searchParams.delete("target_session_attrs");
  const certified = ["sslrootcert", "sslcert", "sslkey"].some((name) => url.searchParams.has(name));
  return { url: without(url), tls: readTls(url, certified ? undefined : "disable") };
}

/** A server may take a connection and never answer; `pg` would wait for ever. */
const CONNECT_MS = 5_000;

/** The options of `pg` for an address. It gets a copy, as `pg` hides the key in the object that it gets. */
export const pgOptions = ({ url, tls }: ServerAddress) => ({
  connectionString: url,
  ssl: tls && { ...tls },
  connectionTimeoutMillis: CONNECT_MS,
});
