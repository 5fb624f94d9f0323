import { announcements, expiryOf, type AnnouncementKind, type Facts } from "./announcements.js";
import type { OrderStatus } from "./order-moves.js";
import { quietUntil, type QuietHours } from "./quiet-hours.js";

/** What decides over a notification when it is about to be sent. */
export interface Circumstances {
  kind: AnnouncementKind;
  now: Date;
  createdAt: Date;
  /** Null: what the kind says. */
  expiresAt: Date | null;
  preferences: { push: boolean; marketing: boolean };
  quietHours: QuietHours;
  /** The zone of the quiet hours. */
  zone: string;
  hasDevices: boolean;
  pickup: Pick<Facts, "pickupFrom" | "pickupUntil">;
  /** The status of the order that it is about; null when it is about none. */
  orderStatus: OrderStatus | null;
  /** Whether its user is one of the people of the partner that it is about. */
  ofPartner: boolean;
  /** Whether the box that it is about can be ordered; null when it is about none. */
  onOffer: boolean | null;
}

/** When a notification is of no use any more. */
export const usefulUntil = ({
  kind,
  createdAt,
  expiresAt,
  pickup,
}: Pick<Circumstances, "kind" | "createdAt" | "expiresAt" | "pickup">): Date =>
  expiresAt ?? expiryOf(kind, createdAt, pickup);

/** Whether a notification is sent now, never (and why), or not before some time. */
export function decide(circumstances: Circumstances): "send" | { drop: string } | { wait: Date } {
  const { kind, now, preferences, quietHours, zone, hasDevices, ofPartner, orderStatus, onOffer } = circumstances;
  const { audience, preference } = announcements[kind];
  const until = usefulUntil(circumstances);
  if (until <= now) return { drop: "expired" };
  if (!preferences.push) return { drop: "push is off" };
  if (!preferences[preference]) return { drop: `${preference} is off` };
  if (audience === "partner" && !ofPartner) return { drop: "no longer with the partner" };
  if (!hasDevices) return { drop: "no device" };
  if (orderStatus !== null && !isStillTrue(kind, orderStatus)) return { drop: `the order is ${orderStatus}` };
  if (onOffer === false && preference === "marketing") return { drop: "the box is not on offer" };
  const quiet = quietUntil(quietHours, zone, now);
  if (quiet === null) return "send";
  return quiet < until ? { wait: quiet } : { drop: "expires in quiet hours" };
}

/** An order's news is no news once the order is somewhere else. */
function isStillTrue(kind: AnnouncementKind, status: OrderStatus): boolean {
  switch (kind) {
    case "ORDER_ACCEPTED":
    case "PICKUP_SOON":
    case "NEW_ORDER":
      return status === "ACCEPTED" || status === "READY";
    case "ORDER_READY":
      return status === "READY";
    default:
      return true;
  }
}

/** How a notification ends whose deliveries have all ended: it is sent when it may have reached one device. */
export function settlementOf(deliveries: readonly { status: string; reason: string | null }[]): {
  status: "SENT" | "FAILED" | "DROPPED";
  reason: string | null;
} {
  const of = (...statuses: string[]) => deliveries.find(({ status }) => statuses.includes(status));
  if (of("SENT")) return { status: "SENT", reason: null };
  const unknown = of("UNKNOWN");
  if (unknown) return { status: "SENT", reason: unknown.reason };
  const failed = of("FAILED", "LATER");
  if (failed) return { status: "FAILED", reason: failed.reason };
  return { status: "DROPPED", reason: "no device" };
}
