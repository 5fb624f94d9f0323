import { parameters, readTls, UnusableAddress, type ServerAddress } from "./server-address.js";

export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

/** Where Redis is, and how its servers are checked. */
export interface RedisAddress {
  /** What the hosts are: one server, some nodes of a cluster, or sentinels, which know the master. */
  readonly form: "server" | "cluster" | "sentinel";
  readonly hosts: readonly RedisHost[];
  readonly db: number;
  /** What sentinels call the master. */
  readonly name?: string;
  readonly credentials: { readonly username?: string; readonly password?: string };
  /** Sentinels have passwords of their own, or none. */
  readonly sentinelCredentials: { readonly sentinelUsername?: string; readonly sentinelPassword?: string };
  readonly tls: ServerAddress["tls"];
}

const forms = {
  server: { example: "redis://host:6379", port: 6379 },
  cluster: { example: "redis+cluster://host1:6379,host2:6379", port: 6379 },
  sentinel: { example: "redis+sentinel://host1:26379,host2:26379/name", port: 26_379 },
};
const malformed = () =>
  new UnusableAddress(
    `must be an address such as ${Object.values(forms)
      .map(({ example }) => example)
      .join(" or ")}`,
  );

const SENTINEL_USERNAME = "sentinel_username";
const SENTINEL_PASSWORD = "sentinel_password";
const known = [...parameters, SENTINEL_USERNAME, SENTINEL_PASSWORD];

/** Reads what is the same for each host of a list, which is no URL as a whole. */
function readUrl(text: string): URL {
  try {
    const url = new URL(text);
    if (url.hostname !== "") return url;
  } catch {
    // as without a host
  }
  throw malformed();
}

/** Reads the part after the hosts: a database, or the name of the master and its database. */
function readPath(form: RedisAddress["form"], path: string): { name?: string; db: number } {
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const name = form === "sentinel" ? parts.shift() : undefined;
  const [db = "0", ...more] = parts;
  if (form === "sentinel" && name === undefined)
    throw new UnusableAddress("must end with the name that the sentinels know the master by, such as /mymaster");
  if (more.length > 0 || !/^\d{1,5}$/.test(db)) throw new UnusableAddress("must name its database by a number, as /1");
  if (form === "cluster" && Number(db) !== 0)
    throw new UnusableAddress("must not name a database: a cluster has only database 0");
  return { ...(name !== undefined && { name }), db: Number(db) };
}

/** Reads REDIS_URL; throws UnusableAddress. `rediss:` is encrypted and checked as with `verify-full`, unless `sslmode` says less. */
export function readRedisUrl(text: string): RedisAddress {
  const [, scheme = "", kind, login = "", list = "", rest = ""] =
    /^(rediss?)(?:\+(cluster|sentinel))?:\/\/((?:[^/?#]*@)?)([^@/?#]+)(.*)$/.exec(text) ?? [];
  const form = kind === "cluster" || kind === "sentinel" ? kind : "server";
  const urls = list.split(",").map((host) => readUrl(`${scheme}://${login}${host}${rest}`));
  const [url = readUrl("")] = urls;
  if (form === "server" && urls.length > 1)
    throw new UnusableAddress("names several hosts: begin it with redis+cluster: or redis+sentinel:");
  const given = (name: string) => url.searchParams.get(name) ?? undefined;
  const isPlain = scheme === "redis";
  if (isPlain && parameters.some((name) => url.searchParams.has(name)))
    throw new UnusableAddress("must begin with rediss: to be encrypted, or rediss+cluster: or rediss+sentinel:");
  const tls = isPlain ? false : readTls(url, "verify-full", form !== "server");
  if (!isPlain && tls === false) throw new UnusableAddress("must begin with redis: to be unencrypted");
  const unknown = [...url.searchParams.keys()].filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new UnusableAddress(`has parameters that are unknown: ${unknown.join(", ")}`);
  const [username, password] = [url.username, url.password].map(decodeURIComponent);
  const [sentinelUsername, sentinelPassword] = [given(SENTINEL_USERNAME), given(SENTINEL_PASSWORD)];
  if (form !== "sentinel" && (sentinelUsername ?? sentinelPassword) !== undefined)
    throw new UnusableAddress("has a password for sentinels and none of them: begin it with redis+sentinel:");
  return {
    form,
    hosts: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port || forms[form].port),
    })),
    ...readPath(form, url.pathname),
    credentials: { ...(username && { username }), ...(password && { password }) },
    sentinelCredentials: {
      ...(sentinelUsername && { sentinelUsername }),
      ...(sentinelPassword && { sentinelPassword }),
    },
    tls,
  };
}
