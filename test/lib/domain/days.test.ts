import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { dayOf, daysOf, periods, startOfDay, type Period } from "../../../lib/domain/days.js";

/** Zones that change clocks at midnight, that are far from UTC, and that change by half an hour. */
const zones = [
  "UTC",
  "Europe/Moscow",
  "Europe/Berlin",
  "America/New_York",
  "America/Havana",
  "Africa/Cairo",
  "Asia/Beirut",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Pacific/Kiritimati",
  "Pacific/Pago_Pago",
];
const zone = fc.constantFrom(...zones);
const instant = fc.integer({ min: Date.parse("2020-01-01"), max: Date.parse("2035-01-01") });

test("a day begins exactly when the one before it ends", () => {
  fc.assert(
    fc.property(zone, instant, (inZone, at) => {
      const day = dayOf(at, inZone);
      const start = startOfDay(day, inZone).getTime();
      expect(start).toBeLessThanOrEqual(at);
      expect(dayOf(start, inZone)).toBe(day);
      expect(dayOf(start - 1, inZone) < day).toBe(true);
    }),
  );
});

test.each([
  ["an ordinary day", "2026-06-01", "Europe/Moscow", "2026-05-31T21:00:00.000Z"],
  ["a day whose midnight does not exist", "2026-04-24", "Africa/Cairo", "2026-04-23T22:00:00.000Z"],
  ["a day whose midnight comes twice", "2026-11-01", "America/Havana", "2026-11-01T04:00:00.000Z"],
  ["the day after one of 23 hours", "2026-03-30", "Europe/Berlin", "2026-03-29T22:00:00.000Z"],
])("%s", (_case, day, inZone, start) => {
  expect(startOfDay(day, inZone).toISOString()).toBe(start);
});

describe("a period", () => {
  test("has the given number of days and ends today", () => {
    fc.assert(
      fc.property(zone, instant, fc.constantFrom(...Object.keys(periods)), (inZone, now, period) => {
        const days = daysOf(period as Period, now, inZone);
        expect(days.last).toBe(dayOf(now, inZone));
        expect((Date.parse(days.last) - Date.parse(days.first)) / 86_400_000 + 1).toBe(periods[period as Period]);
        expect([dayOf(days.from.getTime(), inZone), dayOf(days.until.getTime() - 1, inZone)]).toEqual([
          days.first,
          days.last,
        ]);
        expect(dayOf(days.from.getTime() - 1, inZone) < days.first).toBe(true);
        expect(dayOf(days.until.getTime(), inZone) > days.last).toBe(true);
      }),
    );
  });

  test("uses the date in the zone, not in UTC", () => {
    const now = Date.parse("2026-06-01T21:30:00Z");
    expect(daysOf("7d", now, "Europe/Moscow")).toEqual({
      zone: "Europe/Moscow",
      first: "2026-05-27",
      last: "2026-06-02",
      from: new Date("2026-05-26T21:00:00Z"),
      until: new Date("2026-06-02T21:00:00Z"),
    });
    expect(daysOf("1y", now, "UTC")).toMatchObject({ first: "2025-06-02", last: "2026-06-01" });
  });
});
