import { config } from "../process/config.js";
import { describeErrorWithStack } from "../process/describe-error.js";
import type { Logger } from "../process/log.js";
import type { PushMessage, PushOutcome } from "./push-sender.js";
import type { PushAddress } from "./push-token.js";

// a service without keys is not loaded
const { VAPID, FCM_SERVICE_ACCOUNT } = config;
const sendWebPush = VAPID ? (await import("./web-push.js")).webPushSender(VAPID) : null;
const sendFcm = FCM_SERVICE_ACCOUNT ? (await import("./fcm.js")).fcmSender(FCM_SERVICE_ACCOUNT) : null;

export type PushService = "web-push" | "fcm";

/** Returns the service that reaches a device: Web Push for a subscription, FCM for a registration token. */
export const serviceOf = ({ keys }: PushAddress): PushService => (keys ? "web-push" : "fcm");

/** Returns the origin that is called to reach a device; "" when its address is no URL. */
export function originOf(device: PushAddress): string {
  const address = serviceOf(device) === "fcm" ? config.FCM_URL : device.address;
  return URL.canParse(address) ? new URL(address).origin : "";
}

/** Hosts of push services, with their subdomains: of Chrome and Chromium, Firefox, Safari and Edge. */
const knownHosts = [
  new URL(config.FCM_URL).host,
  "fcm.googleapis.com",
  "jmt17.google.com",
  "push.services.mozilla.com",
  "push.apple.com",
  "notify.windows.com",
  ...config.PUSH_SERVICES,
];

/** Whether an origin is a known push service, and so not a server that a client has set up. */
export function isKnownService(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { host } = new URL(origin);
  return knownHosts.some((known) => host === known || host.endsWith(`.${known}`));
}

/** Sends a message to a device; never throws. Outside production, a message is logged when its service has no keys. */
export async function sendPush(device: PushAddress, message: PushMessage, log: Logger): Promise<PushOutcome> {
  const service = serviceOf(device);
  const send = service === "fcm" ? sendFcm : sendWebPush;
  if (send) {
    try {
      return await send(device, message);
    } catch (error) {
      // other devices must still get their message; whether this one was sent is unknown
      log.error({ service, error: describeErrorWithStack(error) }, "sending a push failed unexpectedly");
      return { result: "unknown", reason: "sending failed unexpectedly" };
    }
  }
  if (config.NODE_ENV === "production") return { result: "refused", reason: `there are no keys for ${service}` };
  const { notificationId, kind, title, body } = message;
  log.info({ notificationId, kind, title, body }, "push");
  return { result: "sent" };
}
