import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { findPlace, hasGeocoder } from "../../lib/geocoding/geocoder.js";
import { accessTokens, NotSent } from "../../lib/messaging/google-tokens.js";
import { sendSms } from "../../lib/messaging/sms.js";
import { networkCode } from "../../lib/outbound/network-error.js";
import { config } from "../../lib/process/config.js";
import { log } from "../../lib/process/log.js";
import { findWarnings } from "../../lib/process/warnings.js";
import { files, keysOf, newFileName } from "../../lib/storage/file-store.js";
import { describeRedis, pingBroker } from "../../queues/broker.js";
import { failed, off, ok, warning, type Check, type Finding } from "./finding.js";

const ANSWER_MS = 8_000;
/** BullMQ's oldest Redis. */
const OLDEST_REDIS = [6, 2] as const;

function findConfiguration(): Finding[] {
  const { NODE_ENV, PUBLIC_URL, HOST, PORT, TRUST_PROXY } = config;
  const facts = ok(`${NODE_ENV}, at ${PUBLIC_URL}, listens on ${HOST}:${PORT}, proxies in front: ${TRUST_PROXY}`);
  return [facts, ...findWarnings(config, process.env).map(warning)];
}

/** Checks each server of Redis: in a cluster any of them may have a queue. */
async function findBroker(): Promise<Finding> {
  // it waits longer for the first connection
  const servers = await describeRedis();
  await pingBroker();
  const { REDIS } = config;
  if (REDIS === null) return ok("in Postgres, as REDIS_URL is not set");
  const among = (name: string) => [...new Set(servers.map((facts) => facts.get(name) ?? "unknown"))].join(" and ");
  const what = REDIS.form === "cluster" ? `Redis Cluster of ${servers.length} servers, ` : "Redis ";
  const about = `${what}${among("redis_version")}, ${REDIS.tls ? "over TLS" : "not encrypted"}, maxmemory-policy ${among("maxmemory_policy")}`;
  const isOld = (facts: ReadonlyMap<string, string>) => {
    const [major = 0, minor = 0] = (facts.get("redis_version") ?? "").split(".").map(Number);
    return major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1]);
  };
  if (servers.some(isOld)) return failed(`${about}: version ${OLDEST_REDIS.join(".")} or later is needed`);
  if (among("maxmemory_policy") !== "noeviction")
    return failed(`${about}: it must be noeviction, or Redis deletes jobs when it is full`);
  return ok(about);
}

async function findStorage(): Promise<Finding> {
  const { S3_BUCKET, S3_ENDPOINT = "AWS", STORAGE_DIR } = config;
  const where =
    S3_BUCKET === undefined ? `the folder ${STORAGE_DIR ?? "files in DATA_DIR"}` : `${S3_BUCKET} at ${S3_ENDPOINT}`;
  await files.check();
  const { original: key } = keysOf(newFileName());
  const written = randomBytes(32);
  await files.put(key, Readable.from([written]), "application/octet-stream");
  try {
    if (!written.equals(await buffer(await files.read(key)))) return failed(`${where}: a file is read as another`);
  } finally {
    await files.delete(key);
  }
  return (await files.size(key)) === null
    ? ok(`${where}: put, get and delete work`)
    : failed(`${where}: delete does nothing`);
}

/** Calls the gateway's host without sending anything, or sends a message to `phone`, which proves that it works. */
async function findSms(phone: string | undefined): Promise<Finding> {
  if (config.SMS_SENDER === "log") return off("login codes are in the log");
  if (phone !== undefined) {
    await sendSms(phone, "npm run check", log);
    return ok("the gateway took a message");
  }
  const { origin, host } = new URL((config.SMS_HTTP_URL ?? "").replaceAll(/[{}]/g, ""));
  const answer = await fetch(origin, {
    method: "HEAD",
    redirect: "manual",
    signal: AbortSignal.timeout(ANSWER_MS),
  }).catch((error: unknown) => networkCode(error));
  if (typeof answer === "string") return failed(`${host} cannot be reached (${answer})`);
  return ok(`${host} answers; --phone +79991234567 sends a message through it`);
}

async function findFcm(): Promise<Finding> {
  if (config.FCM_SERVICE_ACCOUNT === undefined) return off("FCM_SERVICE_ACCOUNT is not set: no push to apps");
  try {
    await accessTokens(config.FCM_SERVICE_ACCOUNT, ANSWER_MS).getAccessToken();
    return ok(`Google accepts the key of ${config.FCM_SERVICE_ACCOUNT.project_id}`);
  } catch (error) {
    if (error instanceof NotSent && "reason" in error.outcome) return failed(error.outcome.reason);
    throw error;
  }
}

function findWebPush(): Finding {
  if (config.VAPID === null) return off("VAPID_PUBLIC_KEY is not set: no push to browsers");
  return ok(`the keys are a pair; push services may write to ${config.VAPID.subject}`);
}

async function findGeocoder(): Promise<Finding> {
  if (!hasGeocoder)
    return off(
      "GEOCODER is none: apps find no address, and those of new partners are not compared with their coordinates",
    );
  const place = await findPlace("Москва, Красная площадь, 1");
  return place
    ? ok(`${config.GEOCODER} finds an address`)
    : warning(`${config.GEOCODER} answers and does not find Red Square`);
}

export const configurationCheck: Check = { name: "Configuration", find: () => Promise.resolve(findConfiguration()) };

/** Checks everything that is not in Postgres. */
export const serviceChecks = (phone: string | undefined): Check[] => [
  { name: "Queues", find: findBroker },
  { name: "Files", find: findStorage },
  { name: "SMS", find: () => findSms(phone) },
  { name: "Push, FCM", find: findFcm },
  { name: "Push, Web", find: () => Promise.resolve(findWebPush()) },
  { name: "Geocoder", find: findGeocoder },
];
