import type { Enum } from "./enums.js";
import { expiryOf, notificationKinds, unmetCondition, type NotificationKind } from "./notification-kinds.js";
import type { Facts } from "./notification-texts.js";
import type { OrderStatus } from "./order-moves.js";
import { quietUntil, type QuietHours } from "./quiet-hours.js";

/** A notification that is about to be sent, with the current state of its subject. */
export interface DueNotification {
  kind: NotificationKind;
  createdAt: Date;
  /** Null: the kind's own expiry. */
  expiresAt: Date | null;
  facts: Pick<Facts, "pickupFrom" | "pickupUntil">;
  hasDevices: boolean;
  /** Whether its recipient is a member of the partner that it is about. */
  ofPartner: boolean;
  /** The status of its order; null without one. */
  orderStatus: OrderStatus | null;
  /** Whether its box is on offer; null without one. */
  onOffer: boolean | null;
}

/** Which pushes a user allows, and when. */
export interface PushPreferences {
  push: boolean;
  marketing: boolean;
  quietHours: QuietHours;
  /** The zone of the quiet hours. */
  zone: string;
}

/** `send`: push services may keep it until then; `snooze`: not before then; `drop`: never. */
export type Decision =
  { readonly action: "send" | "snooze"; readonly until: Date } | { readonly action: "drop"; readonly reason: string };

/** Decides whether a notification is sent now, later or never. */
export function decide(notification: DueNotification, preferences: PushPreferences, now: Date): Decision {
  const { kind, createdAt, expiresAt, facts, hasDevices, ofPartner } = notification;
  const { audience, preference } = notificationKinds[kind];
  const expiry = expiresAt ?? expiryOf(kind, createdAt, facts);
  const drop = (reason: string): Decision => ({ action: "drop", reason });
  if (expiry <= now) return drop("expired");
  if (!preferences.push) return drop("push is off");
  if (!preferences[preference]) return drop(`${preference} is off`);
  if (audience === "partner" && !ofPartner) return drop("no longer with the partner");
  if (!hasDevices) return drop("no device");
  const unmet = unmetCondition(kind, notification);
  if (unmet !== null) return drop(unmet);
  const quiet = quietUntil(preferences.quietHours, preferences.zone, now);
  if (quiet === null) return { action: "send", until: expiry };
  return quiet < expiry ? { action: "snooze", until: quiet } : drop("expires in quiet hours");
}

export type DeliveryStatus = Enum<"deliveryStatus">;

/** The final status of a notification. */
export interface Settlement {
  readonly status: "SENT" | "FAILED" | "DROPPED";
  readonly reason: string | null;
}

/**
 * Returns the final status of a notification that is not tried again: SENT when it may have reached a device, else DROPPED
 * when `drop` has a reason, else FAILED when a delivery failed.
 */
export function settlementOf(
  deliveries: readonly { status: DeliveryStatus; reason: string | null }[],
  drop: string | null = null,
): Settlement {
  const find = (...statuses: DeliveryStatus[]) => deliveries.find(({ status }) => statuses.includes(status));
  if (find("SENT")) return { status: "SENT", reason: null };
  // another run may be sending it, or was cut short
  const unknown = find("UNKNOWN", "SENDING");
  if (unknown) return { status: "SENT", reason: unknown.reason };
  if (drop !== null) return { status: "DROPPED", reason: drop };
  const failed = find("FAILED", "LATER");
  if (failed) return { status: "FAILED", reason: failed.reason };
  return { status: "DROPPED", reason: "no device" };
}

/** The most attempts at a delivery that a server of a client's own does not accept for now. */
const MOST_ATTEMPTS = 20;
/** The wait for a server of a client's own that names no time. */
const OWN_SERVER_SECONDS = 60;
/** The shortest wait, even when the push service asks for less. */
const SHORTEST_WAIT_SECONDS = 5;
/** The longest wait for a known push service that asks for less: soon after an outage its messages are sent. */
const LONGEST_WAIT_SECONDS = 5 * 60;

/** Returns how many seconds to wait at least for a known push service that did not accept a message in so many attempts. */
export const waitAfter = (attempts: number): number =>
  Math.min(SHORTEST_WAIT_SECONDS * 2 ** Math.max(attempts - 1, 0), LONGEST_WAIT_SECONDS);

/** What keeps a message open: a known push service that fails, the deployment's key for one, or servers of clients' own. */
export type Obstacle = "known service" | "key" | "own server";

/** `settle`: no more attempts; `snooze`: continue then; `retry`: fail this attempt of the job and leave the next to its backoff. */
export type NextStep =
  | { readonly action: "settle" }
  | { readonly action: "snooze"; readonly until: Date; readonly waitsFor: "another run" | "push service" }
  | { readonly action: "retry"; readonly reason: string };

/** Returns until when other runs may be sending what they have claimed; null when none is. */
export function claimedUntil(
  deliveries: readonly { status: DeliveryStatus; startedAt: Date }[],
  claimSeconds: number,
): Date | null {
  const claims = deliveries.filter(({ status }) => status === "SENDING").map(({ startedAt }) => startedAt.getTime());
  return claims.length === 0 ? null : new Date(Math.max(...claims) + claimSeconds * 1_000);
}

/**
 * Decides what follows a run that has sent what it could. A known push service is waited for until the notification expires. A key
 * is mended by an operator, who replays the job; anyone could alarm operators with a server of their own, so for that no job fails.
 *
 * @param expiry when the notification is no longer useful
 * @param retryAfterSeconds the longest wait that a push service asked for; null when none did
 * @param claimSeconds how long a run may take to send what it has claimed
 */
export function decideNextStep(
  deliveries: readonly { status: DeliveryStatus; reason: string | null; attempts: number; startedAt: Date }[],
  {
    now,
    expiry,
    obstacle,
    retryAfterSeconds,
    claimSeconds,
  }: { now: Date; expiry: Date; obstacle: Obstacle; retryAfterSeconds: number | null; claimSeconds: number },
): NextStep {
  const othersUntil = claimedUntil(deliveries, claimSeconds);
  if (othersUntil !== null) return { action: "snooze", until: othersUntil, waitsFor: "another run" };
  const open = deliveries.filter(({ status }) => status === "LATER");
  const [first] = open;
  if (!first) return { action: "settle" };
  if (obstacle === "key" && retryAfterSeconds === null)
    return { action: "retry", reason: first.reason ?? "a message could not be sent" };
  const known = obstacle === "known service";
  const attempts = Math.max(...open.map((delivery) => delivery.attempts));
  const waitSeconds = known
    ? Math.max(waitAfter(attempts), retryAfterSeconds ?? 0)
    : Math.max(SHORTEST_WAIT_SECONDS, retryAfterSeconds ?? OWN_SERVER_SECONDS);
  const until = new Date(now.getTime() + waitSeconds * 1_000);
  if (until >= expiry || (!known && attempts >= MOST_ATTEMPTS)) return { action: "settle" };
  return { action: "snooze", until, waitsFor: "push service" };
}
