import { describe, expect, test } from "@jest/globals";
import { decide, settlementOf, type Circumstances } from "../../../lib/domain/push-rules.js";

const noon = new Date("2026-03-10T09:00:00Z");
const night = new Date("2026-03-10T20:00:00Z");
const morning = new Date("2026-03-11T05:00:00Z");

const given = (changes: Partial<Circumstances> = {}): Circumstances => ({
  kind: "ORDER_READY",
  now: noon,
  createdAt: noon,
  expiresAt: null,
  preferences: { push: true, marketing: false },
  quietHours: { start: "22:00:00", end: "08:00:00" },
  zone: "Europe/Moscow",
  hasDevices: true,
  ofPartner: true,
  pickup: { pickupFrom: null, pickupUntil: null },
  orderStatus: null,
  onOffer: null,
  ...changes,
});

describe("a notification", () => {
  test.each<[string, Partial<Circumstances>, ReturnType<typeof decide>]>([
    ["by day is sent", {}, "send"],
    ["by night waits for the morning", { now: night, createdAt: night }, { wait: morning }],
    [
      "by night is sent to who has no quiet hours",
      { now: night, quietHours: { start: "00:00", end: "00:00" } },
      "send",
    ],
    ["by night is sent to who is somewhere else", { now: night, zone: "America/New_York" }, "send"],
    ["that expires now is dropped", { expiresAt: noon }, { drop: "expired" }],
    ["that expires in a moment is sent", { expiresAt: new Date(noon.getTime() + 1) }, "send"],
    [
      "that is useless by the morning is dropped",
      { now: night, expiresAt: morning },
      { drop: "expires in quiet hours" },
    ],
    [
      "that is of some use in the morning waits",
      { now: night, expiresAt: new Date(morning.getTime() + 1) },
      { wait: morning },
    ],
    ["a day old is dropped", { now: new Date("2026-03-11T09:00:00Z") }, { drop: "expired" }],
    ["of a pickup that is over is dropped", { pickup: { pickupFrom: null, pickupUntil: noon } }, { drop: "expired" }],
    ["to who wants none is dropped", { preferences: { push: false, marketing: true } }, { drop: "push is off" }],
    ["to who has no device is dropped", { hasDevices: false }, { drop: "no device" }],
    [
      "to who is no longer with the partner is dropped",
      { kind: "NEW_ORDER", ofPartner: false },
      { drop: "no longer with the partner" },
    ],
    ["to a customer is sent, who was never with the partner", { ofPartner: false }, "send"],
    ["to who has no device does not wait", { hasDevices: false, now: night }, { drop: "no device" }],
    ["of an order that is picked up is dropped", { orderStatus: "COMPLETED" }, { drop: "the order is COMPLETED" }],
    ["of an order that is ready is sent", { orderStatus: "READY" }, "send"],
    ["of an order that was cancelled is sent", { kind: "ORDER_CANCELLED", orderStatus: "CANCELLED" }, "send"],
    [
      "of a new order that was cancelled is dropped",
      { kind: "NEW_ORDER", orderStatus: "CANCELLED" },
      { drop: "the order is CANCELLED" },
    ],
    ["of a box is dropped without consent", { kind: "BOX_BACK" }, { drop: "marketing is off" }],
    ["of a box is sent with consent", { kind: "BOX_BACK", preferences: { push: true, marketing: true } }, "send"],
    [
      "of a box is dropped when all push is off",
      { kind: "BOX_BACK", preferences: { push: false, marketing: true } },
      { drop: "push is off" },
    ],
    [
      "of a box that is sold out by now is dropped",
      { kind: "BOX_BACK", preferences: { push: true, marketing: true }, onOffer: false },
      { drop: "the box is not on offer" },
    ],
  ])("%s", (_case, changes, decision) => {
    expect(decide(given(changes))).toEqual(decision);
  });
});

describe("a notification whose deliveries have ended", () => {
  const ended = (...statuses: string[]) =>
    settlementOf(statuses.map((status) => ({ status, reason: `was ${status}` })));
  test.each([
    [["SENT"], "SENT", null],
    [["FAILED", "GONE", "UNKNOWN", "SENT"], "SENT", null],
    [["FAILED", "UNKNOWN"], "SENT", "was UNKNOWN"],
    [["GONE", "FAILED"], "FAILED", "was FAILED"],
    [["GONE", "LATER"], "FAILED", "was LATER"],
    [["GONE", "GONE"], "DROPPED", "no device"],
    [[], "DROPPED", "no device"],
  ])("%j is %s", (statuses, status, reason) => {
    expect(ended(...statuses)).toEqual({ status, reason });
  });
});
