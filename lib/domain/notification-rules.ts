import type { Enum } from "./enums.js";
import { expiryOf, notificationKinds, unmetCondition, type NotificationKind } from "./notification-kinds.js";
import type { Facts } from "./notification-texts.js";
import type { OrderStatus } from "./order-moves.js";
import { quietUntil, type QuietHours } from "./quiet-hours.js";

/** A notification that is about to be sent, and the state of what it is about. */
export interface DueNotification {
  kind: NotificationKind;
  createdAt: Date;
  /** Null: what the kind says. */
  expiresAt: Date | null;
  facts: Pick<Facts, "pickupFrom" | "pickupUntil">;
  hasDevices: boolean;
  /** Whether its user is one of the people of the partner that it is about. */
  ofPartner: boolean;
  /** The status of the order that it is about; null when it is about none. */
  orderStatus: OrderStatus | null;
  /** Whether the box that it is about can be ordered; null when it is about none. */
  onOffer: boolean | null;
}

/** What a user allows, and when. */
export interface PushPreferences {
  push: boolean;
  marketing: boolean;
  quietHours: QuietHours;
  /** The zone of the quiet hours. */
  zone: string;
}

/** `send`: push services may keep it until then; `snooze`: it must not be sent before then; `drop`: it is never sent. */
export type Decision =
  { readonly action: "send" | "snooze"; readonly until: Date } | { readonly action: "drop"; readonly reason: string };

/** Whether a notification is sent now, later or never. */
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

/** How a notification ends. */
export interface Settlement {
  readonly status: "SENT" | "FAILED" | "DROPPED";
  readonly reason: string | null;
}

/**
 * How a notification ends for which no more is done: it is sent when it may have reached one device. Without a failure it is
 * dropped because of `drop`.
 */
export function settlementOf(
  deliveries: readonly { status: DeliveryStatus; reason: string | null }[],
  drop: string | null = null,
): Settlement {
  const find = (...statuses: DeliveryStatus[]) => deliveries.find(({ status }) => statuses.includes(status));
  if (find("SENT")) return { status: "SENT", reason: null };
  const unknown = find("UNKNOWN");
  if (unknown) return { status: "SENT", reason: unknown.reason };
  if (drop !== null) return { status: "DROPPED", reason: drop };
  const failed = find("FAILED", "LATER");
  if (failed) return { status: "FAILED", reason: failed.reason };
  return { status: "DROPPED", reason: "no device" };
}

/** A push service that asks to be tried again later is asked so many times at most. */
const MOST_ATTEMPTS = 20;
/** A push service is given this time even when it asks for less. */
const SHORTEST_WAIT_SECONDS = 5;

/** `settle`: it ends so; `snooze`: it goes on then; `retry`: it is tried again in the rhythm of the job, while that has attempts left. */
export type NextStep =
  | { readonly action: "settle" }
  | { readonly action: "snooze"; readonly until: Date; readonly waitsFor: "another run" | "push service" }
  | { readonly action: "retry"; readonly reason: string };

/**
 * What comes after a run has sent what it could.
 *
 * @param expiry when the notification is of no use any more
 * @param retryAfterSeconds the longest time that a push service asked for; null when none named one
 * @param claimSeconds how long a run may take to send what it has claimed
 */
export function decideNextStep(
  deliveries: readonly { status: DeliveryStatus; reason: string | null; attempts: number; startedAt: Date }[],
  {
    now,
    expiry,
    retryAfterSeconds,
    claimSeconds,
  }: { now: Date; expiry: Date; retryAfterSeconds: number | null; claimSeconds: number },
): NextStep {
  const claims = deliveries.filter(({ status }) => status === "SENDING").map(({ startedAt }) => startedAt.getTime());
  if (claims.length > 0)
    return {
      action: "snooze",
      until: new Date(Math.max(...claims) + claimSeconds * 1_000),
      waitsFor: "another run",
    };
  const open = deliveries.filter(({ status }) => status === "LATER");
  const [first] = open;
  if (!first) return { action: "settle" };
  if (retryAfterSeconds === null) return { action: "retry", reason: first.reason ?? "a message could not be sent" };
  const until = new Date(now.getTime() + Math.max(SHORTEST_WAIT_SECONDS, retryAfterSeconds) * 1_000);
  if (until >= expiry || open.some(({ attempts }) => attempts >= MOST_ATTEMPTS)) return { action: "settle" };
  return { action: "snooze", until, waitsFor: "push service" };
}
