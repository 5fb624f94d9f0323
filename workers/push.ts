import { sendPush } from "../lib/push.js";
import { sql, transaction } from "../sql/db.js";
import { findDueNotification, settleNotification } from "../sql/queries/notifications.js";
import type { Handler } from "./consume.js";

/** Delivers a notification that is neither settled nor useless by now. */
export const deliverPush: Handler<{ notificationId: string }> = async ({ payload, log, done }) => {
  const notification = await findDueNotification(sql, payload.notificationId);
  if (!notification) return;
  await transaction(async (tx) => {
    // settling first locks the row: a second run of this job waits here and then finds nothing to send
    const status = notification.expired ? "DROPPED" : "SENT";
    const settled = await settleNotification(tx, notification.id, status, notification.expired ? "expired" : null);
    if (settled && status === "SENT") await sendPush({ notificationId: notification.id, kind: notification.kind }, log);
    await done(tx);
  });
};
