import { push } from "../queues/index.js";
import { transaction } from "../sql/db.js";
import { insertOrderPlacedNotifications } from "../sql/queries/notifications.js";
import { stageJobs } from "../sql/queries/staged-jobs.js";
import { poke } from "../sql/signals.js";
import type { Handler } from "./consume.js";

/** Writes the notifications of an event and stages their delivery, in the transaction that settles the job. */
export const announce: Handler<{ announcement: "ORDER_PLACED"; subjectId: string }> = async ({
  payload,
  requestId,
  done,
}) => {
  await transaction(async (tx) => {
    const notifications = await insertOrderPlacedNotifications(tx, payload.subjectId);
    await stageJobs(
      tx,
      push,
      notifications.map(({ id }) => ({ notificationId: id })),
      { requestId },
    );
    await done(tx);
  });
  poke("staged_jobs");
};
