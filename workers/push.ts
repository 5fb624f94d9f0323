import {
  announcements,
  collapseKeyOf,
  isAnnouncementKind,
  textOf,
  type AnnouncementKind,
} from "../lib/domain/announcements.js";
import { PermanentError, Snooze } from "../lib/process/errors.js";
import { decide, settlementOf, usefulUntil } from "../lib/domain/push-rules.js";
import { LONGEST_SEND_MS, type PushOutcome } from "../lib/messaging/push-sender.js";
import { sendPush, serviceOf } from "../lib/messaging/push.js";
import { push } from "../queues/index.js";
import { contended, sql, transaction } from "../sql/db.js";
import {
  claimDeliveries,
  listDeliveries,
  updateDeliveries,
  type ClaimedDevice,
  type Delivery,
  type DeliveryResult,
} from "../sql/queries/deliveries.js";
import { deferNotification, findDueNotification, settleNotification } from "../sql/queries/notifications.js";
import { holdPreferences } from "../sql/queries/preferences.js";
import { stageJob } from "../sql/queries/staged-jobs.js";
import type { Handler, Task } from "./consume.js";
import { pushMessages } from "./metrics.js";

/** A claim that is older belongs to a process that is gone: whoever sends has its outcome before, and time to note it. */
const CLAIM_SECONDS = LONGEST_SEND_MS / 1_000 + 5;
/** However often a push service asks for patience, it is asked no more than that. */
const MOST_ATTEMPTS = 20;
/** Push services keep a message for four weeks at most. */
const LONGEST_TTL_SECONDS = 28 * 24 * 60 * 60;
/** A service that asks for no patience at all gets some. */
const SHORTEST_WAIT_SECONDS = 5;

type PushTask = Task<{ notificationId: string }>;
type Due = NonNullable<Awaited<ReturnType<typeof findDueNotification>>>;

const statusOf = {
  sent: "SENT",
  unknown: "UNKNOWN",
  gone: "GONE",
  refused: "FAILED",
  // our own key may be mended, and then the message is still worth sending
  unauthorized: "LATER",
  later: "LATER",
} as const satisfies Record<PushOutcome["result"], DeliveryResult["status"]>;

interface Attempt {
  device: ClaimedDevice;
  outcome: PushOutcome;
}

async function sendTo(device: ClaimedDevice, due: Due, until: Date, { log }: PushTask): Promise<Attempt> {
  const { id, kind, now, subjectId, data, facts } = due;
  if (!isAnnouncementKind(kind)) throw new PermanentError("there is no such announcement");
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
      ttlSeconds: Math.min(Math.ceil((until.getTime() - now.getTime()) / 1_000), LONGEST_TTL_SECONDS),
      urgency: announcements[kind].urgency,
    },
    log,
  );
  const service = serviceOf(target);
  pushMessages.inc({ service, result: outcome.result });
  if (outcome.result === "unauthorized") {
    log.error({ service, reason: outcome.reason }, "a push service does not accept our key or configuration");
  } else if (outcome.result === "refused") {
    log.warn({ service, deviceId: device.id, reason: outcome.reason }, "a push service refuses a message");
  }
  return { device, outcome };
}

/** When push services want to be asked again; null when none of them said. */
function askedAgainAt(now: Date, attempts: readonly Attempt[]): Date | null {
  const waits = attempts.flatMap(({ outcome }) =>
    outcome.result === "later" && outcome.retryAfterSeconds !== null ? [outcome.retryAfterSeconds] : [],
  );
  return waits.length === 0 ? null : new Date(now.getTime() + Math.max(SHORTEST_WAIT_SECONDS, ...waits) * 1_000);
}

/** Throws when something is left to be done later; otherwise the notification can be settled. */
async function waitFor(due: Due, until: Date, open: readonly Delivery[], attempts: readonly Attempt[]): Promise<void> {
  const [first] = open;
  if (!first) return;
  const again = askedAgainAt(due.now, attempts);
  if (again === null) throw new Error(first.reason ?? "a message could not be sent");
  if (again >= until || open.some((delivery) => delivery.attempts >= MOST_ATTEMPTS)) return;
  await deferNotification(sql, due.id, "the push service asks for patience");
  throw new Snooze(again);
}

const circumstancesOf = (due: Due, kind: AnnouncementKind) => ({ ...due, kind, pickup: due.facts });

/**
 * Has another job go on at the end of quiet hours, or at once when they have changed meanwhile. Whoever changes them does so
 * before or after this, and then finds the job waiting.
 */
const goOnAfterQuietHours = ({ id, userId }: Due, task: PushTask): Promise<void> =>
  transaction(async (tx) => {
    await holdPreferences(tx, userId);
    const due = await findDueNotification(tx, id);
    const decision = due && isAnnouncementKind(due.kind) ? decide(circumstancesOf(due, due.kind)) : "send";
    if (decision === "send" || "drop" in decision) throw new Snooze(new Date());
    await deferNotification(tx, id, "quiet hours");
    await stageJob(tx, push, { notificationId: id }, { requestId: task.requestId, runAt: decision.wait });
    await task.done(tx);
  });

/**
 * Brings a notification to its user's devices, within their preferences and quiet hours, to each of them once at most: a
 * delivery is claimed before it is sent, and what nobody knows the outcome of counts as sent. Only what a push service has
 * certainly not taken is tried again.
 */
export const deliverPush: Handler<{ notificationId: string }> = async (task) => {
  const due = await findDueNotification(sql, task.payload.notificationId);
  if (!due) return;
  const settle = (status: "SENT" | "FAILED" | "DROPPED", reason: string | null) =>
    transaction(async (tx) => {
      await settleNotification(tx, due.id, status, reason);
      await task.done(tx);
    });
  const { id, kind } = due;
  if (!isAnnouncementKind(kind)) return settle("FAILED", "there is no such announcement");

  const circumstances = circumstancesOf(due, kind);
  const decision = decide(circumstances);
  if (decision !== "send" && "drop" in decision) {
    const told = settlementOf(await listDeliveries(sql, [id]));
    return told.status === "SENT" ? settle(told.status, told.reason) : settle("DROPPED", decision.drop);
  }
  if (decision !== "send") return goOnAfterQuietHours(due, task);

  const until = usefulUntil(circumstances);
  const { claimed, others } = await claimDeliveries(contended, id, CLAIM_SECONDS);
  const attempts = await Promise.all(claimed.map((device) => sendTo(device, due, until, task)));
  const results = attempts.map(({ device, outcome }) => ({
    deviceId: device.id,
    status: statusOf[outcome.result],
    reason: outcome.result === "sent" ? null : outcome.reason,
  }));
  const all = [...results, ...others];
  const ended = all.every(({ status }) => status !== "LATER" && status !== "SENDING");
  if (await updateDeliveries(sql, id, results, ended ? settlementOf(all) : null)) return;

  const deliveries = await listDeliveries(sql, [id]);
  const sending = deliveries.filter(({ status }) => status === "SENDING");
  // another run of this job is sending it
  if (sending.length > 0) {
    const latest = Math.max(...sending.map(({ startedAt }) => startedAt.getTime()));
    throw new Snooze(new Date(latest + CLAIM_SECONDS * 1_000));
  }
  const settlement = settlementOf(deliveries);
  try {
    await waitFor(
      due,
      until,
      deliveries.filter(({ status }) => status === "LATER"),
      attempts,
    );
  } catch (error) {
    // the job is kept for an operator, and can be run again once what is wrong has been put right
    if (!(error instanceof Snooze) && task.attempt >= push.attempts)
      await settleNotification(sql, id, settlement.status, settlement.reason);
    throw error;
  }
  return settle(settlement.status, settlement.reason);
};
