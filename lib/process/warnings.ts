import { config } from "./config.js";
import type { Config } from "./read-config.js";
import { log } from "./log.js";

const isLoopback = (host: string) => /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host);

/** Names what development permits and this configuration does not rule out. */
function lax({ SMS_SENDER, METRICS_TOKEN, ALLOW_PRIVATE_ADDRESSES }: Config): string {
  return [
    ...(SMS_SENDER === "log" ? ["login codes are in the log"] : []),
    ...(METRICS_TOKEN === undefined ? ["anyone may read /metrics"] : []),
    ...(ALLOW_PRIVATE_ADDRESSES ? ["clients may make the service call private addresses"] : []),
    "limits on logins are those of development",
  ].join(", ");
}

/** Returns what is permitted and may not be meant, a sentence each. `given` is the environment that `config` was read from. */
export function findWarnings(config: Config, given: NodeJS.ProcessEnv): string[] {
  const { HOST, OTP_FIXED_CODE, NODE_ENV } = config;
  const warnings: string[] = [];
  if (!given["NODE_ENV"])
    warnings.push(
      `NODE_ENV is not set, so this is a development service: ${lax(config)}; a deployment sets production`,
    );
  if (OTP_FIXED_CODE !== undefined && !isLoopback(HOST))
    warnings.push(`OTP_FIXED_CODE is set and HOST is ${HOST}: anyone who reaches this service can log in as any user`);
  if (NODE_ENV === "production" && config.VAPID === null && config.FCM_SERVICE_ACCOUNT === undefined)
    warnings.push("no push message is sent: neither VAPID_PUBLIC_KEY nor FCM_SERVICE_ACCOUNT is set");
  return warnings;
}

/** Logs them, once at the start of a process. */
export function logWarnings(): void {
  for (const warning of findWarnings(config, process.env)) log.warn(warning);
}
