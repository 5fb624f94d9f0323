import type { Logger } from "./log.js";

/** What a sender delivers. */
export interface PushMessage {
  readonly notificationId: string;
  readonly kind: string;
}

/** Delivers a notification; throws when it should be tried again. */
export type PushSender = (message: PushMessage, log: Logger) => Promise<void>;

/** Writes the notification to the log instead of sending it. */
export const sendPush: PushSender = ({ notificationId, kind }, log) => {
  log.info({ notificationId, kind }, "push");
  return Promise.resolve();
};
