import { findFaults } from "./environment-faults.js";
import { environment, limitDefaults, partialEnvironment, type Limits, type Variables } from "./environment.js";
import type { VapidKeys } from "./push-keys.js";
import { readRedisUrl, type RedisAddress } from "./redis-address.js";
import { readDatabaseUrl, type ServerAddress } from "./server-address.js";

/** The configuration of a process. */
export type Config = Readonly<Omit<Variables, keyof Limits> & Limits> & {
  readonly PUBLIC_URL: string;
  readonly SMS_SENDER: "log" | "http";
  readonly DATABASE_DIRECT_URL: string;
  /** Whether DATABASE_URL is a pooler, which may give each transaction another session. */
  readonly POOLED: boolean;
  /** DATABASE_REPLICA_URLS, read. */
  readonly REPLICAS: readonly ServerAddress[];
  /** REDIS_URL, read; null: BullMQ lives in Postgres. */
  readonly REDIS: RedisAddress | null;
  /** Null: no Web Push. */
  readonly VAPID: VapidKeys | null;
};

const names = Object.keys(environment.shape);

/**
 * Parses the environment. Throws an Error whose message names every wrong variable at once, one of them in one line and
 * several in a line each, and never shows a value.
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const result = environment.safeParse(given);
  const malformed = result.error?.issues.map(({ path, message }) => ({ name: path.join("."), message })) ?? [];
  const isSound = (name: string) => malformed.every((fault) => fault.name !== name);
  const sound = partialEnvironment.parse(Object.fromEntries(Object.entries(given).filter(([name]) => isSound(name))));
  const faults = [...malformed, ...findFaults(sound).filter(({ name }) => isSound(name))];
  if (!result.success || faults.length > 0) {
    const lines = faults
      .toSorted((one, other) => names.indexOf(one.name) - names.indexOf(other.name))
      .map(({ name, message }) => `${name} ${message}`);
    throw new Error(`Wrong configuration:${lines.length > 1 ? "\n  " : " "}${lines.join("\n  ")}`);
  }
  const { data } = result;
  const { VAPID_PUBLIC_KEY: publicKey, VAPID_PRIVATE_KEY: privateKey, VAPID_SUBJECT: subject = data.PUBLIC_URL } = data;
  const limitOf = (name: keyof Limits) =>
    data[name] ?? limitDefaults[name][data.NODE_ENV === "production" ? "production" : "otherwise"];
  const { DATABASE_DIRECT_URL: directUrl = data.DATABASE_URL } = data;
  return Object.freeze({
    ...data,
    DATABASE_DIRECT_URL: directUrl,
    PUBLIC_URL: (data.PUBLIC_URL ?? `http://localhost:${data.PORT}`).replace(/\/$/, ""),
    OTP_SENDS_PER_PHONE: limitOf("OTP_SENDS_PER_PHONE"),
    OTP_GUESSES_PER_ADDRESS: limitOf("OTP_GUESSES_PER_ADDRESS"),
    REGISTRATIONS_PER_ADDRESS: limitOf("REGISTRATIONS_PER_ADDRESS"),
    SMS_SENDER: data.SMS_SENDER ?? "log",
    POOLED: directUrl !== data.DATABASE_URL,
    REPLICAS: data.DATABASE_REPLICA_URLS.map(readDatabaseUrl),
    REDIS: data.REDIS_URL === undefined ? null : readRedisUrl(data.REDIS_URL),
    VAPID: publicKey && privateKey && subject ? { publicKey, privateKey, subject } : null,
  });
}
