import { config } from "../process/config.js";
import { fcmSender } from "./fcm.js";
import { describeErrorWithStack } from "../process/describe-error.js";
import type { Logger } from "../process/log.js";
import type { PushMessage, PushOutcome } from "./push-sender.js";
import type { PushAddress } from "./push-token.js";
import { webPushSender } from "./web-push.js";

const sendWebPush = config.VAPID ? webPushSender(config.VAPID) : null;
const sendFcm = config.FCM_SERVICE_ACCOUNT ? fcmSender(config.FCM_SERVICE_ACCOUNT) : null;

export type PushService = "web-push" | "fcm";

/** Returns the service that reaches a device: Web Push for a subscription, FCM for a registration token. */
export const serviceOf = ({ keys }: PushAddress): PushService => (keys ? "web-push" : "fcm");

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
