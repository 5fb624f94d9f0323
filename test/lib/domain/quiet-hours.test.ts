import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { quietUntil } from "../../../lib/domain/quiet-hours.js";

const night = { start: "22:00:00", end: "08:00:00" };
const until = (start: string, end: string, zone: string, at: string) =>
  quietUntil({ start, end }, zone, new Date(at))?.toISOString() ?? null;

describe("quiet hours in Moscow, which has no daylight saving time", () => {
  test.each([
    ["have not begun just before their start", "2026-03-10T18:59:59.999Z", null],
    ["apply at their start", "2026-03-10T19:00:00.000Z", "2026-03-11T05:00:00.000Z"],
    ["apply before midnight", "2026-03-10T20:30:00.500Z", "2026-03-11T05:00:00.000Z"],
    ["apply after midnight", "2026-03-10T21:30:00.000Z", "2026-03-11T05:00:00.000Z"],
    ["apply until just before their end", "2026-03-11T04:59:59.999Z", "2026-03-11T05:00:00.000Z"],
    ["do not apply at their end", "2026-03-11T05:00:00.000Z", null],
  ])("%s", (_case, at, end) => {
    expect(until(night.start, night.end, "Europe/Moscow", at)).toBe(end);
  });

  test("can lie within one day", () => {
    expect(until("13:00:00", "14:30:15", "Europe/Moscow", "2026-03-10T10:00:00Z")).toBe("2026-03-10T11:30:15.000Z");
    expect(until("13:00:00", "14:30:15", "Europe/Moscow", "2026-03-10T11:30:14Z")).toBe("2026-03-10T11:30:15.000Z");
    expect(until("13:00:00", "14:30:15", "Europe/Moscow", "2026-03-10T11:30:15Z")).toBeNull();
    expect(until("13:00:00", "14:30:15", "Europe/Moscow", "2026-03-10T20:00:00Z")).toBeNull();
  });

  test("can last all day but one second", () => {
    expect(until("08:00:01", "08:00:00", "Europe/Moscow", "2026-03-10T05:00:01Z")).toBe("2026-03-11T05:00:00.000Z");
    expect(until("08:00:01", "08:00:00", "Europe/Moscow", "2026-03-10T05:00:00Z")).toBeNull();
  });

  test.each(["00:00:00", "08:00:00", "22:00:00"])("never apply when start and end are both %s", (time) => {
    for (let hour = 0; hour < 24; hour += 1)
      expect(quietUntil({ start: time, end: time }, "Europe/Moscow", new Date(Date.UTC(2026, 2, 10, hour)))).toBeNull();
  });
});

describe("quiet hours on the day the clock goes forward (Berlin, 29 March 2026, 02:00 to 03:00)", () => {
  const zone = "Europe/Berlin";
  test("are an hour shorter", () => {
    expect(until(night.start, night.end, zone, "2026-03-28T21:00:00Z")).toBe("2026-03-29T06:00:00.000Z");
  });
  test("end at the jump when their end is skipped", () => {
    expect(until("22:00:00", "02:30:00", zone, "2026-03-28T23:00:00Z")).toBe("2026-03-29T01:00:00.000Z");
    expect(until("22:00:00", "02:30:00", zone, "2026-03-29T01:00:00Z")).toBeNull();
  });
  test("end at the jump when their end is the jump", () => {
    expect(until("22:00:00", "02:00:00", zone, "2026-03-28T23:00:00Z")).toBe("2026-03-29T01:00:00.000Z");
  });
  test("do not apply when they are skipped completely", () => {
    expect(until("02:10:00", "02:50:00", zone, "2026-03-29T00:59:59Z")).toBeNull();
    expect(until("02:10:00", "02:50:00", zone, "2026-03-29T01:00:00Z")).toBeNull();
  });
  test("begin at the jump when their start is skipped", () => {
    expect(until("02:30:00", "04:00:00", zone, "2026-03-29T01:00:00Z")).toBe("2026-03-29T02:00:00.000Z");
  });
});

describe("quiet hours on the day the clock goes back (Berlin, 25 October 2026, 03:00 to 02:00)", () => {
  const zone = "Europe/Berlin";
  test("are an hour longer", () => {
    expect(until(night.start, night.end, zone, "2026-10-24T20:00:00Z")).toBe("2026-10-25T07:00:00.000Z");
  });
  test("end twice when their end comes twice", () => {
    expect(until("22:00:00", "02:30:00", zone, "2026-10-24T22:00:00Z")).toBe("2026-10-25T00:30:00.000Z");
    expect(until("22:00:00", "02:30:00", zone, "2026-10-25T00:45:00Z")).toBeNull();
    expect(until("22:00:00", "02:30:00", zone, "2026-10-25T01:15:00Z")).toBe("2026-10-25T01:30:00.000Z");
  });
  test("end when the clock reaches their end, even if that is the second time", () => {
    expect(until("22:00:00", "03:00:00", zone, "2026-10-24T22:00:00Z")).toBe("2026-10-25T02:00:00.000Z");
  });
});

test("quiet hours work with half-hour changes, a skipped day, and odd offsets", () => {
  expect(until(night.start, night.end, "Australia/Lord_Howe", "2026-04-04T12:00:00Z")).toBe("2026-04-04T21:30:00.000Z");
  expect(until(night.start, night.end, "Pacific/Apia", "2011-12-30T09:00:00Z")).toBe("2011-12-30T18:00:00.000Z");
  expect(until(night.start, night.end, "Asia/Kathmandu", "2026-01-01T20:00:00Z")).toBe("2026-01-02T02:15:00.000Z");
});

/** A day of the year near a change of clocks in `zone`, or the year's first day when there is none. */
function dayOfChange(zone: string, year: number, last: boolean): number {
  const DAY = 86_400_000;
  const clock = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, hour: "2-digit", minute: "2-digit" });
  const days = Array.from({ length: 365 }, (_, day) => Date.UTC(year, 0, 1) + day * DAY);
  const moved = days.filter((day) => clock.format(day) !== clock.format(day + DAY));
  return (last ? moved.at(-1) : moved[0]) ?? Date.UTC(year, 0, 1);
}

test("the computed end equals a search minute by minute", () => {
  const MINUTE = 60_000;
  const minuteOfDay = fc.integer({ min: 0, max: 1_439 });
  const text = (minute: number) =>
    `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}:00`;
  const scene = fc.record({
    zone: fc.constantFrom(...Intl.supportedValuesOf("timeZone")),
    year: fc.integer({ min: 1980, max: 2037 }),
    last: fc.boolean(),
    minutes: fc.integer({ min: -720, max: 2_160 }),
    start: minuteOfDay,
    end: minuteOfDay,
  });

  let quiet = 0;
  fc.assert(
    fc.property(scene, ({ zone, year, last, minutes, start, end }) => {
      const at = dayOfChange(zone, year, last) + minutes * MINUTE;
      const clock = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, hour: "2-digit", minute: "2-digit" });
      const isQuiet = (moment: number) => {
        const shown = `${clock.format(moment)}:00`;
        if (start <= end) return text(start) <= shown && shown < text(end);
        return text(start) <= shown || shown < text(end);
      };
      let found: number | null = null;
      if (isQuiet(at)) for (found = at; isQuiet(found); found += MINUTE);
      const answer = quietUntil({ start: text(start), end: text(end) }, zone, new Date(at));
      expect(answer?.toISOString() ?? null).toBe(found === null ? null : new Date(found).toISOString());
      if (found !== null) quiet += 1;
    }),
    { numRuns: 2_000 },
  );
  expect(quiet).toBeGreaterThan(500);
});
