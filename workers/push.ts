import { isDeepStrictEqual } from "node:util";
import { Snooze } from "../lib/process/errors.js";
import {
  collapseKeyOf,
  isNotificationKind,
  notificationKinds,
  textOf,
  type NotificationKind,
} from "../lib/domain/notification-kinds.js";
import { decide, decideNextStep, settlementOf, type Settlement } from "../lib/domain/notification-rules.js";
import { LONGEST_SEND_MS, type PushOutcome } from "../lib/messaging/push-sender.js";
import { sendPush, serviceOf } from "../lib/messaging/push.js";
import { push } from "../queues/index.js";
import { contended, sql, transaction } from "../sql/db.js";
import {
  claimDeliveries,
  listDeliveries,
  updateDeliveries,
  type ClaimedDevice,
  type DeliveryResult,
} from "../sql/queries/deliveries.js";
import { findDueNotification, updateNotificationStatus, type DueRow } from "../sql/queries/notifications.js";
import { lockPreferencesShared } from "../sql/queries/preferences.js";
import { stageJob } from "../sql/outbox.js";
import type { Handler, Task } from "./consume.js";
import { pushMessages } from "./metrics.js";

/** An older claim belongs to a dead process: by then a send has its outcome, and has had time to store it. */
const CLAIM_SECONDS = LONGEST_SEND_MS / 1_000 + 5;
/** Push services keep a message for four weeks at most. */
const LONGEST_TTL_SECONDS = 28 * 24 * 60 * 60;

type PushTask = Task<{ notificationId: string }>;
type Due = DueRow & { readonly kind: NotificationKind };

const statusOf = {
  sent: "SENT",
  unknown: "UNKNOWN",
  gone: "GONE",
  refused: "FAILED",
  // an operator may fix the deployment's key, and then the message is still worth sending
  unauthorized: "LATER",
  later: "LATER",
} as const satisfies Record<PushOutcome["result"], DeliveryResult["status"]>;

async function sendTo(device: ClaimedDevice, due: Due, expiry: Date, { log }: PushTask): Promise<PushOutcome> {
  const { id, kind, now, subjectId, data, facts } = due;
  const { address, p256dh, auth } = device;
  const target = { address, keys: p256dh !== null && auth !== null ? { p256dh, auth } : null };
  const outcome = await sendPush(
    target,
    {
      notificationId: id,
      kind,
      ...textOf(kind, device.locale, facts),
      data,
      collapseKey: collapseKeyOf(kind, subjectId),
      ttlSeconds: Math.min(Math.ceil((expiry.getTime() - now.getTime()) / 1_000), LONGEST_TTL_SECONDS),
      urgency: notificationKinds[kind].urgency,
    },
    log,
  );
  const service = serviceOf(target);
  pushMessages.inc({ service, result: outcome.result });
  if (outcome.result === "unauthorized") {
    log.error(
      { service, reason: outcome.reason },
      "a push service does not accept the deployment's key or configuration",
    );
  } else if (outcome.result === "refused") {
    log.warn({ service, deviceId: device.id, reason: outcome.reason }, "a push service refuses a message");
  }
  return outcome;
}

/** Returns the longest wait that push services asked for; null when none did. */
function longestWait(outcomes: readonly PushOutcome[]): number | null {
  const waits = outcomes.flatMap((outcome) =>
    outcome.result === "later" && outcome.retryAfterSeconds !== null ? [outcome.retryAfterSeconds] : [],
  );
  return waits.length === 0 ? null : Math.max(...waits);
}

const settle = (task: PushTask, settlement: Settlement): Promise<void> =>
  transaction(async (tx) => {
    await updateNotificationStatus(tx, task.payload.notificationId, settlement);
    await task.done(tx);
  });

/**
 * Replaces this job by one for the end of quiet hours. A change of the preferences commits either before the lock is taken,
 * and then the decision is made again, or after it is released, and then the change finds the staged job.
 */
const snooze = ({ id, userId, preferences }: Due, until: Date, task: PushTask): Promise<void> =>
  transaction(async (tx) => {
    await lockPreferencesShared(tx, userId);
    const current = await findDueNotification(tx, id);
    if (!isDeepStrictEqual(current?.preferences, preferences)) throw new Snooze(new Date());
    await updateNotificationStatus(tx, id, { status: "DEFERRED", reason: "quiet hours" });
    await stageJob(tx, push, { notificationId: id }, { requestId: task.requestId, runAt: until, key: id });
    await task.done(tx);
  });

/**
 * Sends a notification to its user's devices, to each at most once: a delivery is claimed before it is sent, and one with an
 * unknown outcome counts as sent. Only what a push service has certainly not accepted is retried.
 */
async function send(due: Due, expiry: Date, task: PushTask): Promise<void> {
  const { id, now } = due;
  const { claimed, others } = await claimDeliveries(contended, id, CLAIM_SECONDS);
  const attempts = await Promise.all(
    claimed.map(async (device) => ({ deviceId: device.id, outcome: await sendTo(device, due, expiry, task) })),
  );
  const results = attempts.map(({ deviceId, outcome }) => ({
    deviceId,
    status: statusOf[outcome.result],
    reason: outcome.result === "sent" ? null : outcome.reason,
  }));
  const known = [...results, ...others];
  const ended = known.every(({ status }) => status !== "LATER" && status !== "SENDING");
  if (await updateDeliveries(sql, id, results, ended ? settlementOf(known) : null)) return;

  const deliveries = await listDeliveries(sql, [id]);
  const settlement = settlementOf(deliveries);
  const next = decideNextStep(deliveries, {
    now,
    expiry,
    retryAfterSeconds: longestWait(attempts.map(({ outcome }) => outcome)),
    claimSeconds: CLAIM_SECONDS,
  });
  switch (next.action) {
    case "settle":
      return settle(task, settlement);
    case "snooze":
      if (next.waitsFor === "push service")
        await updateNotificationStatus(sql, id, { status: "DEFERRED", reason: "the push service asks to wait" });
      throw new Snooze(next.until);
    case "retry":
      // the dead job stays for an operator to replay once the cause is fixed
      if (task.attempt >= push.attempts) await updateNotificationStatus(sql, id, settlement);
      throw new Error(next.reason);
  }
}

/** Sends a notification, snoozes it or drops it, by its user's preferences and quiet hours. */
export const deliverPush: Handler<{ notificationId: string }> = async (task) => {
  const row = await findDueNotification(sql, task.payload.notificationId);
  if (!row) return;
  const { id, kind, preferences, now } = row;
  if (!isNotificationKind(kind)) return settle(task, { status: "FAILED", reason: "the kind is unknown" });
  const due = { ...row, kind };
  const decision = decide(due, preferences, now);
  switch (decision.action) {
    case "send":
      return send(due, decision.until, task);
    case "snooze":
      return snooze(due, decision.until, task);
    case "drop":
      // it may have been sent before to some of the devices
      return settle(task, settlementOf(await listDeliveries(sql, [id]), decision.reason));
  }
};
