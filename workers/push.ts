import { isDeepStrictEqual } from "node:util";
import { Snooze } from "../lib/process/errors.js";
import { inBatches } from "../sql/in-batches.js";
import {
  collapseKeyOf,
  isNotificationKind,
  notificationKinds,
  textOf,
  type NotificationKind,
} from "../lib/domain/notification-kinds.js";
import {
  claimedUntil,
  decide,
  decideNextStep,
  settlementOf,
  type Obstacle,
  type Settlement,
} from "../lib/domain/notification-rules.js";
import { later, LONGEST_SEND_MS, type PushOutcome } from "../lib/messaging/push-sender.js";
import { isKnownService, originOf, sendPush, serviceOf } from "../lib/messaging/push.js";
import { Busy, takePlace } from "../lib/outbound/bulkhead.js";
import { recordCall } from "../lib/outbound/vendor-calls.js";
import { push } from "../queues/index.js";
import { batches, sql, transaction } from "../sql/db.js";
import {
  claimDeliveries,
  endCutShort,
  listDeliveries,
  updateDeliveries,
  type Claim,
  type ClaimedDevice,
  type DeliveryResult,
  type RunResult,
} from "../sql/queries/deliveries.js";
import { countUnanswered } from "../sql/queries/devices.js";
import { listDueNotifications, updateNotificationStatus, type DueRow } from "../sql/queries/notifications.js";
import { lockPreferencesShared } from "../sql/queries/preferences.js";
import { stageJob } from "../sql/outbox.js";
import { claimForRun } from "./claim.js";
import type { Handler, Task } from "./consume.js";
import { observeOrderPush, pushMessages } from "./metrics.js";
import { shareSlots } from "./slots.js";

/** An older claim belongs to a dead process: by then a send has its outcome, and has had time to store it. */
const CLAIM_SECONDS = LONGEST_SEND_MS / 1_000 + 5;
/** Push services keep a message for four weeks at most. */
const LONGEST_TTL_SECONDS = 28 * 24 * 60 * 60;

type PushTask = Task<{ notificationId: string }>;
/** `readAt` is when the row was read, by the monotonic clock. */
type Due = DueRow & { readonly kind: NotificationKind; readonly readAt: number };

/** What an order sends at once, which its users wait for. */
const aboutNewOrder: readonly NotificationKind[] = ["ORDER_ACCEPTED", "NEW_ORDER"];

const statusOf = {
  sent: "SENT",
  unknown: "UNKNOWN",
  gone: "GONE",
  refused: "FAILED",
  // an operator may fix the deployment's key, and then the message is still worth sending
  unauthorized: "LATER",
  later: "LATER",
} as const satisfies Record<PushOutcome["result"], DeliveryResult["status"]>;

const findDue = inBatches((ids: readonly string[]) => listDueNotifications(batches, ids));
/** Two runs may send one notification, and a statement for both could not tell their claims or their results apart. */
const apart = { keyOf: ({ notificationId }: { notificationId: string }) => notificationId };
const claim = inBatches((claims: readonly Claim[]) => claimDeliveries(batches, claims, CLAIM_SECONDS), apart);
const update = inBatches((runs: readonly RunResult[]) => updateDeliveries(batches, runs), apart);

const services = shareSlots(push, isKnownService);

/** The result of a claimed delivery. */
interface Attempt {
  readonly deviceId: string;
  readonly outcome: PushOutcome;
  /** False when there was no place for a call. */
  readonly called: boolean;
  /** Whether the device is of a known push service, whose refusals an operator may mend. */
  readonly known: boolean;
  /** True when it counts as unanswered, false when it ends a row of such deliveries to the device; null: neither. */
  readonly unanswered: boolean | null;
}

/** Sends to a device if its push service, and those that other users have named, leave a place for a call. */
async function sendTo(device: ClaimedDevice, due: Due, expiry: Date, { log }: PushTask): Promise<Attempt> {
  const { id, userId, kind, now, readAt, orderedAt, subjectId, data, facts } = due;
  const { id: deviceId, address, p256dh, auth } = device;
  const target = { address, keys: p256dh !== null && auth !== null ? { p256dh, auth } : null };
  const [service, origin] = [serviceOf(target), originOf(target)];
  const known = isKnownService(origin);
  const count = (result: PushOutcome["result"] | "busy") =>
    pushMessages.inc({ service: known ? service : "others", result });
  const message = {
    notificationId: id,
    kind,
    ...textOf(kind, device.locale, facts),
    data,
    collapseKey: collapseKeyOf(kind, subjectId),
    ttlSeconds: Math.min(Math.ceil((expiry.getTime() - now.getTime()) / 1_000), LONGEST_TTL_SECONDS),
    urgency: notificationKinds[kind].urgency,
  };
  const place = await takePlace(services, { origin, owner: userId });
  if (place instanceof Busy) {
    count("busy");
    const outcome = later("the push service is busy", Math.ceil(place.waitMs / 1_000));
    return { deviceId, outcome, known, called: false, unanswered: null };
  }
  const answered = await sendPush(target, message, log);
  // that a server which a client has set up does not accept the deployment's key is no fault to mend
  const outcome = answered.result === "unauthorized" && !known ? { ...answered, result: "refused" as const } : answered;
  const silent = "silent" in outcome;
  place.leave(!silent);
  count(outcome.result);
  // servers that clients have set up are no vendors
  if (known) recordCall(`push: ${service}`, silent || outcome.result === "later" || outcome.result === "unauthorized");
  if (outcome.result === "sent" && known && orderedAt && aboutNewOrder.includes(kind))
    observeOrderPush({}, (now.getTime() - orderedAt.getTime() + performance.now() - readAt) / 1_000);
  if (outcome.result === "unauthorized") {
    log.error(
      { service, reason: outcome.reason },
      "a push service does not accept the deployment's key or configuration",
    );
  } else if (outcome.result === "refused") {
    log.warn({ service, deviceId, reason: outcome.reason }, "a push service refuses a message");
  }
  // an outage of a known service says nothing about its devices, and a failed connection may be the fault of this network
  const counts = silent && outcome.result === "unknown" && !known;
  const unanswered = counts || (device.unanswered > 0 && !silent ? false : null);
  return { deviceId, outcome, known, called: true, unanswered };
}

/** Returns the longest wait that push services asked for; null when none did. */
function longestWait(attempts: readonly Attempt[]): number | null {
  const waits = attempts.flatMap(({ outcome }) =>
    outcome.result === "later" && outcome.retryAfterSeconds !== null ? [outcome.retryAfterSeconds] : [],
  );
  return waits.length === 0 ? null : Math.max(...waits);
}

function obstacleOf(attempts: readonly Attempt[]): Obstacle {
  if (attempts.some(({ known, outcome }) => known && outcome.result === "later")) return "known service";
  return attempts.some(({ outcome }) => outcome.result === "unauthorized") ? "key" : "own server";
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
    const [current] = await listDueNotifications(tx, [id]);
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
  const { claimed, others } = await claimForRun(task.signal, (token) => claim({ notificationId: id, token }));
  const attempts = await Promise.all(claimed.map((device) => sendTo(device, due, expiry, task)));
  const results = attempts.map(({ deviceId, outcome, called }) => ({
    deviceId,
    called,
    status: statusOf[outcome.result],
    reason: outcome.result === "sent" ? null : outcome.reason,
  }));
  const allDeliveries = [...results, ...others];
  const ended = allDeliveries.every(({ status }) => status !== "LATER" && status !== "SENDING");
  const settlement = ended ? settlementOf(allDeliveries) : null;
  const { settled, completed } =
    results.length > 0
      ? await update({ notificationId: id, results, settlement, job: task.job?.run ?? null })
      : { settled: false, completed: false };
  if (completed) task.job?.completed();
  const counted = attempts.flatMap(({ deviceId, unanswered }) =>
    unanswered === null ? [] : [{ deviceId, unanswered }],
  );
  if (counted.length > 0) await countUnanswered(sql, counted);
  if (settled) return;

  const deliveries = await listDeliveries(sql, [id]);
  const next = decideNextStep(deliveries, {
    now,
    expiry,
    obstacle: obstacleOf(attempts),
    retryAfterSeconds: longestWait(attempts),
    claimSeconds: CLAIM_SECONDS,
  });
  switch (next.action) {
    case "settle":
      return settle(task, settlementOf(deliveries));
    case "snooze":
      if (next.waitsFor === "push service") {
        const reason = attempts.every(({ called }) => called)
          ? "the push service asks to wait"
          : "the push service is busy";
        await updateNotificationStatus(sql, id, { status: "DEFERRED", reason });
      }
      throw new Snooze(next.until);
    case "retry":
      // it stays for an operator to replay once the cause is fixed
      if (task.attempt >= push.attempts) await updateNotificationStatus(sql, id, settlementOf(deliveries));
      throw new Error(next.reason);
  }
}

/** Settles a notification that is of no use any more. It may have been sent to some of the devices. */
async function drop(id: string, reason: string, task: PushTask): Promise<void> {
  await endCutShort(sql, id, CLAIM_SECONDS);
  const deliveries = await listDeliveries(sql, [id]);
  const othersUntil = claimedUntil(deliveries, CLAIM_SECONDS);
  if (othersUntil !== null) throw new Snooze(othersUntil);
  await settle(task, settlementOf(deliveries, reason));
}

/** Sends a notification, snoozes it or drops it, by its user's preferences and quiet hours. */
export const deliverPush: Handler<{ notificationId: string }> = async (task) => {
  const row = await findDue(task.payload.notificationId);
  if (!row) return;
  const { id, kind, preferences, now } = row;
  if (!isNotificationKind(kind)) return settle(task, { status: "FAILED", reason: "the kind is unknown" });
  const due = { ...row, kind, readAt: performance.now() };
  const decision = decide(due, preferences, now);
  switch (decision.action) {
    case "send":
      return send(due, decision.until, task);
    case "snooze":
      return snooze(due, decision.until, task);
    case "drop":
      return drop(id, decision.reason, task);
  }
};
