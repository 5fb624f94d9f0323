import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  decide,
  decideNextStep,
  settlementOf,
  waitAfter,
  type Decision,
  type DeliveryStatus,
  type DueNotification,
  type PushPreferences,
} from "../../../lib/domain/notification-rules.js";

const noon = new Date("2026-03-10T09:00:00Z");
const night = new Date("2026-03-10T20:00:00Z");
const morning = new Date("2026-03-11T05:00:00Z");
const later = (date: Date, ms: number) => new Date(date.getTime() + ms);
const hours = 3_600_000;

const notification: DueNotification = {
  kind: "ORDER_READY",
  createdAt: noon,
  expiresAt: later(noon, 24 * hours),
  facts: { pickupFrom: null, pickupUntil: null },
  hasDevices: true,
  ofPartner: true,
  orderStatus: null,
  onOffer: null,
};
const preferences: PushPreferences = {
  push: true,
  marketing: false,
  quietHours: { start: "22:00:00", end: "08:00:00" },
  zone: "Europe/Moscow",
};

const send: Decision = { action: "send", until: later(noon, 24 * hours) };
const snooze: Decision = { action: "snooze", until: morning };
const drop = (reason: string): Decision => ({ action: "drop", reason });

describe("a notification", () => {
  test.each<[string, Decision, Partial<DueNotification>, Partial<PushPreferences>?, Date?]>([
    ["by day is sent", send, {}],
    ["by night is snoozed until the morning", snooze, {}, {}, night],
    ["by night is sent without quiet hours", send, {}, { quietHours: { start: "00:00", end: "00:00" } }, night],
    ["by night is sent to a user in another zone", send, {}, { zone: "America/New_York" }, night],
    ["that expires now is dropped", drop("expired"), { expiresAt: noon }],
    ["that expires in a moment is sent", { action: "send", until: later(noon, 1) }, { expiresAt: later(noon, 1) }],
    ["that expires when quiet hours end is dropped", drop("expires in quiet hours"), { expiresAt: morning }, {}, night],
    ["that expires after quiet hours is snoozed", snooze, { expiresAt: later(morning, 1) }, {}, night],
    [
      "without an expiry of its own expires as its kind does",
      drop("expired"),
      { expiresAt: null },
      {},
      later(noon, 24 * hours),
    ],
    [
      "about a pickup that is over is dropped",
      drop("expired"),
      { expiresAt: null, facts: { pickupFrom: null, pickupUntil: noon } },
    ],
    ["to a user with push off is dropped", drop("push is off"), {}, { push: false, marketing: true }],
    ["to a user without devices is dropped", drop("no device"), { hasDevices: false }],
    ["to a user without devices is not snoozed", drop("no device"), { hasDevices: false }, {}, night],
    [
      "to a user who no longer works for the partner is dropped",
      drop("no longer with the partner"),
      { kind: "NEW_ORDER", ofPartner: false },
    ],
    ["to a customer, who never worked for the partner, is sent", send, { ofPartner: false }],
    ["about an order that is picked up is dropped", drop("the order is COMPLETED"), { orderStatus: "COMPLETED" }],
    ["about an order that is ready is sent", send, { orderStatus: "READY" }],
    ["about an order that was cancelled is sent", send, { kind: "ORDER_CANCELLED", orderStatus: "CANCELLED" }],
    [
      "about a new order that was cancelled is dropped",
      drop("the order is CANCELLED"),
      { kind: "NEW_ORDER", orderStatus: "CANCELLED" },
    ],
    ["about a box is dropped without consent", drop("marketing is off"), { kind: "BOX_BACK" }],
    ["about a box is sent with consent", send, { kind: "BOX_BACK" }, { marketing: true }],
    [
      "about a box is dropped when all push is off",
      drop("push is off"),
      { kind: "BOX_BACK" },
      { push: false, marketing: true },
    ],
    [
      "about a box that has sold out is dropped",
      drop("the box is not on offer"),
      { kind: "BOX_BACK", onOffer: false },
      { marketing: true },
    ],
  ])("%s", (_case, decision, changes, changedPreferences = {}, now = noon) => {
    expect(decide({ ...notification, ...changes }, { ...preferences, ...changedPreferences }, now)).toEqual(decision);
  });
});

describe("a notification whose deliveries ended with", () => {
  test.each<[DeliveryStatus[], string, string | null]>([
    [["SENT"], "SENT", null],
    [["FAILED", "GONE", "UNKNOWN", "SENT"], "SENT", null],
    [["FAILED", "UNKNOWN"], "SENT", "was UNKNOWN"],
    [["LATER", "SENDING"], "SENT", "was SENDING"],
    [["GONE", "FAILED"], "FAILED", "was FAILED"],
    [["GONE", "LATER"], "FAILED", "was LATER"],
    [["GONE", "GONE"], "DROPPED", "no device"],
    [[], "DROPPED", "no device"],
  ])("%j is %s", (statuses, status, reason) => {
    const deliveries = statuses.map((each) => ({ status: each, reason: `was ${each}` }));
    expect(settlementOf(deliveries)).toEqual({ status, reason });
    const sent = status === "SENT";
    expect(settlementOf(deliveries, "push is off")).toEqual(
      sent ? { status, reason } : { status: "DROPPED", reason: "push is off" },
    );
  });
});

describe("after a run of the push job", () => {
  const delivery = (status: DeliveryStatus, attempts = 1, startedAt = noon) => ({
    status,
    reason: status === "SENT" ? null : `was ${status}`,
    attempts,
    startedAt,
  });
  const terms: Parameters<typeof decideNextStep>[1] = {
    now: noon,
    expiry: later(noon, 900_000),
    obstacle: "own server",
    retryAfterSeconds: 60,
    claimSeconds: 20,
  };
  const snoozed = (seconds: number, waitsFor: string) => ({
    action: "snooze",
    until: later(noon, seconds * 1_000),
    waitsFor,
  });

  test.each<[string, ReturnType<typeof delivery>[], Partial<typeof terms>, unknown]>([
    ["all deliveries have ended: settle", [delivery("SENT"), delivery("FAILED")], {}, { action: "settle" }],
    ["no device is left: settle", [], {}, { action: "settle" }],
    [
      "another run is sending: wait until the latest claim expires",
      [delivery("LATER"), delivery("SENDING", 1, later(noon, -9_000)), delivery("SENDING", 1, later(noon, -2_000))],
      {},
      snoozed(18, "another run"),
    ],
    [
      "a push service asks to wait a minute: wait",
      [delivery("SENT"), delivery("LATER")],
      {},
      snoozed(60, "push service"),
    ],
    [
      "a push service asks to wait for no time: wait five seconds",
      [delivery("LATER")],
      { retryAfterSeconds: 0 },
      snoozed(5, "push service"),
    ],
    [
      "a server of a client's own names no time: wait a minute",
      [delivery("LATER")],
      { retryAfterSeconds: null },
      snoozed(60, "push service"),
    ],
    [
      "a push service does not accept the key: retry the job",
      [delivery("SENT"), delivery("LATER")],
      { obstacle: "key", retryAfterSeconds: null },
      { action: "retry", reason: "was LATER" },
    ],
    [
      "a known push service names no time: wait longer after each attempt, with the most of the devices",
      [delivery("SENT", 9), delivery("LATER"), delivery("LATER", 4)],
      { obstacle: "known service", retryAfterSeconds: null },
      snoozed(40, "push service"),
    ],
    [
      "a known push service names a shorter time: wait longer",
      [delivery("LATER", 6)],
      { obstacle: "known service" },
      snoozed(160, "push service"),
    ],
    [
      "a known push service names a longer time: wait until then",
      [delivery("LATER", 6)],
      { obstacle: "known service", retryAfterSeconds: 600 },
      snoozed(600, "push service"),
    ],
    [
      "a known push service fails for hours: wait on",
      [delivery("LATER", 2_000)],
      { obstacle: "known service", retryAfterSeconds: null },
      snoozed(300, "push service"),
    ],
    [
      "the notification expires before a known push service is called again: settle",
      [delivery("LATER", 7)],
      { obstacle: "known service", retryAfterSeconds: null, expiry: later(noon, 300_000) },
      { action: "settle" },
    ],
    [
      "the notification expires first: settle",
      [delivery("LATER")],
      { expiry: later(noon, 60_000) },
      { action: "settle" },
    ],
    ["the attempt before the last one: wait", [delivery("LATER", 19)], {}, snoozed(60, "push service")],
    ["the last attempt: settle", [delivery("LATER", 20)], {}, { action: "settle" }],
  ])("%s", (_case, deliveries, changes, next) => {
    expect(decideNextStep(deliveries, { ...terms, ...changes })).toEqual(next);
  });
});

test("the wait for a known push service grows from five seconds to five minutes", () => {
  expect([0, 1, 2, 7, 8].map(waitAfter)).toEqual([5, 5, 10, 300, 300]);
  fc.assert(
    fc.property(fc.nat(10_000), (attempts) => {
      const [wait, next] = [waitAfter(attempts), waitAfter(attempts + 1)];
      expect(wait).toBeGreaterThanOrEqual(5);
      expect(next).toBeGreaterThanOrEqual(wait);
      expect(next).toBeLessThanOrEqual(Math.min(2 * wait, 300));
    }),
  );
});
