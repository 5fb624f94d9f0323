import { isAbsolute } from "node:path";
import type { SoundVariables } from "./environment.js";
import { PRIVATE_ORIGINS } from "./origins.js";
import { isVapidPair } from "./push-keys.js";

/** What is wrong with a variable. */
export interface Fault {
  readonly name: keyof SoundVariables;
  readonly message: string;
}

/** Returns what is wrong with the variables together. */
export function findFaults(env: SoundVariables): Fault[] {
  const faults: Fault[] = env.NODE_ENV === "production" ? faultsInProduction(env) : [];
  const refuse = (name: Fault["name"], message: string) => faults.push({ name, message });
  /** `name` is needed when one of the others is set. */
  const together = (name: Fault["name"], ...others: Fault["name"][]) => {
    const given = others.filter((other) => env[other] !== undefined);
    const [one] = given;
    if (env[name] !== undefined || one === undefined) return;
    refuse(name, `is missing; ${given.length > 1 ? `${given.join(" and ")} are` : `${one} is`} set`);
  };
  together("VAPID_PUBLIC_KEY", "VAPID_PRIVATE_KEY", "VAPID_SUBJECT");
  together("VAPID_PRIVATE_KEY", "VAPID_PUBLIC_KEY", "VAPID_SUBJECT");
  const { VAPID_PUBLIC_KEY: publicKey, VAPID_PRIVATE_KEY: privateKey } = env;
  const hasDefault = env.PUBLIC_URL?.startsWith("https:") === true;
  if (env.VAPID_SUBJECT === undefined && !hasDefault && (publicKey ?? privateKey) !== undefined)
    refuse(
      "VAPID_SUBJECT",
      "is missing, and PUBLIC_URL, its default, is no https address: set one such as mailto:push@example.com",
    );
  if (publicKey !== undefined && privateKey !== undefined && !isVapidPair(publicKey, privateKey))
    refuse("VAPID_PRIVATE_KEY", "does not belong to VAPID_PUBLIC_KEY");
  const { GEOCODER: geocoder = "none" } = env;
  if (!["none", "openstreetmap"].includes(geocoder) && env.GEOCODER_KEY === undefined)
    refuse("GEOCODER_KEY", `is missing; GEOCODER is \`${geocoder}\``);
  together("S3_BUCKET", "S3_REGION", "S3_ENDPOINT", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY");
  together("S3_REGION", "S3_BUCKET");
  together("S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY");
  together("S3_SECRET_ACCESS_KEY", "S3_ACCESS_KEY_ID");
  if (env.SMS_SENDER === "http" && env.SMS_HTTP_URL === undefined)
    refuse("SMS_HTTP_URL", "is missing; SMS_SENDER is `http`");
  if (env.SMS_SENDER === "http" && env.SMS_HTTP_URL !== undefined) {
    const isGet = env.SMS_HTTP_METHOD === "GET";
    const sent = [env.SMS_HTTP_URL, ...(isGet ? [] : [env.SMS_HTTP_BODY])].join(" ");
    const missing = ["{phone}", "{text}"].filter((part) => !sent.includes(part)).join(" and ");
    // a gateway may well answer 200 to a message without a code
    if (missing !== "")
      refuse(isGet ? "SMS_HTTP_URL" : "SMS_HTTP_BODY", `has no ${missing}: no login code would arrive`);
  }
  return faults;
}

/** What a deployment must not have, and must not be without: half configured it would seem to work. */
function faultsInProduction(env: SoundVariables): Fault[] {
  const faults: Fault[] = [];
  const refuse = (name: Fault["name"], message: string) => faults.push({ name, message });
  if (env.OTP_FIXED_CODE !== undefined) refuse("OTP_FIXED_CODE", "must not be set in production");
  if (env.ALLOW_PRIVATE_ADDRESSES) refuse("ALLOW_PRIVATE_ADDRESSES", "must not be set in production");
  if (env.CORS_ORIGINS?.includes(PRIVATE_ORIGINS))
    refuse("CORS_ORIGINS", "must not have `private` in production: name the apps' origins");
  if (env.RATE_LIMIT_DISABLED) refuse("RATE_LIMIT_DISABLED", "must not be set in production");
  if (env.PUBLIC_URL === undefined)
    refuse("PUBLIC_URL", "is missing; in production it is the https address that clients reach the API at");
  else if (!env.PUBLIC_URL.startsWith("https:")) refuse("PUBLIC_URL", "must be https in production");
  if (env.S3_BUCKET === undefined && env.STORAGE_DIR === undefined)
    refuse("STORAGE_DIR", "is missing, and so is S3_BUCKET: files need a folder that all processes share, or a bucket");
  if (env.S3_BUCKET === undefined && env.STORAGE_DIR !== undefined && !isAbsolute(env.STORAGE_DIR))
    refuse(
      "STORAGE_DIR",
      "must be an absolute path in production: processes started elsewhere would use another folder",
    );
  if (env.SMS_SENDER === undefined)
    refuse("SMS_SENDER", "is missing; in production it is `http`, and SMS_HTTP_URL the gateway for login codes");
  else if (env.SMS_SENDER !== "http") refuse("SMS_SENDER", "must be `http` in production");
  if (env.METRICS_TOKEN === undefined) refuse("METRICS_TOKEN", "is missing; without it anyone may read /metrics");
  if (env.FCM_URL?.startsWith("https:") === false) refuse("FCM_URL", "must be https in production");
  if (env.FCM_SERVICE_ACCOUNT?.token_uri.startsWith("https:") === false)
    refuse("FCM_SERVICE_ACCOUNT", "must have an https token_uri in production");
  return faults;
}
