import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { quietUntil } from "../../../lib/domain/quiet-hours.js";

const night = { start: "22:00:00", end: "08:00:00" };
const until = (start: string, end: string, zone: string, at: string) =>
  quietUntil({ start, end }, zone, new Date(at))?.toISOString() ?? null;

describe("in Moscow, which has no summer time", () => {
  test.each([
    ["before they begin", "2026-03-10T18:59:59.999Z", null],
    ["when they begin", "2026-03-10T19:00:00.000Z", "2026-03-11T05:00:00.000Z"],
    ["before midnight", "2026-03-10T20:30:00.500Z", "2026-03-11T05:00:00.000Z"],
    ["after midnight", "2026-03-10T21:30:00.000Z", "2026-03-11T05:00:00.000Z"],
    ["in their last moment", "2026-03-11T04:59:59.999Z", "2026-03-11T05:00:00.000Z"],
    ["when they end", "2026-03-11T05:00:00.000Z", null],
  ])("%s", (_case, at, end) => {
    expect(until(night.start, night.end, "Europe/Moscow", at)).toBe(end);
  });

  test("within one day", () => {
    expect(until("13:00:00", "14:30:15", "Europe/Moscow", "2026-03-10T10:00:00Z")).toBe("2026-03-10T11:30:15.000Z");
    expect(until("13:00:00", "14:30:15", "Europe/Moscow", "2026-03-10T11:30:14Z")).toBe("2026-03-10T11:30:15.000Z");
    expect(until("13:00:00", "14:30:15", "Europe/Moscow", "2026-03-10T11:30:15Z")).toBeNull();
    expect(until("13:00:00", "14:30:15", "Europe/Moscow", "2026-03-10T20:00:00Z")).toBeNull();
  });

  test("all day but one second", () => {
    expect(until("08:00:01", "08:00:00", "Europe/Moscow", "2026-03-10T05:00:01Z")).toBe("2026-03-11T05:00:00.000Z");
    expect(until("08:00:01", "08:00:00", "Europe/Moscow", "2026-03-10T05:00:00Z")).toBeNull();
  });

  test.each(["00:00:00", "08:00:00", "22:00:00"])("none when both are %s", (time) => {
    for (let hour = 0; hour < 24; hour += 1)
      expect(quietUntil({ start: time, end: time }, "Europe/Moscow", new Date(Date.UTC(2026, 2, 10, hour)))).toBeNull();
  });
});

describe("on the day the clock goes forward (Berlin, 29 March 2026, 02:00 to 03:00)", () => {
  const zone = "Europe/Berlin";
  test("the night is an hour shorter", () => {
    expect(until(night.start, night.end, zone, "2026-03-28T21:00:00Z")).toBe("2026-03-29T06:00:00.000Z");
  });
  test("an end that is skipped is the jump", () => {
    expect(until("22:00:00", "02:30:00", zone, "2026-03-28T23:00:00Z")).toBe("2026-03-29T01:00:00.000Z");
    expect(until("22:00:00", "02:30:00", zone, "2026-03-29T01:00:00Z")).toBeNull();
  });
  test("an end at the jump is the jump", () => {
    expect(until("22:00:00", "02:00:00", zone, "2026-03-28T23:00:00Z")).toBe("2026-03-29T01:00:00.000Z");
  });
  test("hours that are skipped whole are none", () => {
    expect(until("02:10:00", "02:50:00", zone, "2026-03-29T00:59:59Z")).toBeNull();
    expect(until("02:10:00", "02:50:00", zone, "2026-03-29T01:00:00Z")).toBeNull();
  });
  test("a start that is skipped is the jump", () => {
    expect(until("02:30:00", "04:00:00", zone, "2026-03-29T01:00:00Z")).toBe("2026-03-29T02:00:00.000Z");
  });
});

describe("on the day the clock goes back (Berlin, 25 October 2026, 03:00 to 02:00)", () => {
  const zone = "Europe/Berlin";
  test("the night is an hour longer", () => {
    expect(until(night.start, night.end, zone, "2026-10-24T20:00:00Z")).toBe("2026-10-25T07:00:00.000Z");
  });
  test("an end that comes twice ends them twice", () => {
    expect(until("22:00:00", "02:30:00", zone, "2026-10-24T22:00:00Z")).toBe("2026-10-25T00:30:00.000Z");
    expect(until("22:00:00", "02:30:00", zone, "2026-10-25T00:45:00Z")).toBeNull();
    expect(until("22:00:00", "02:30:00", zone, "2026-10-25T01:15:00Z")).toBe("2026-10-25T01:30:00.000Z");
  });
  test("an end that the clock first reaches the second time", () => {
    expect(until("22:00:00", "03:00:00", zone, "2026-10-24T22:00:00Z")).toBe("2026-10-25T02:00:00.000Z");
  });
});

test("half an hour's summer time, a day left out, and odd offsets", () => {
  expect(until(night.start, night.end, "Australia/Lord_Howe", "2026-04-04T12:00:00Z")).toBe("2026-04-04T21:30:00.000Z");
  expect(until(night.start, night.end, "Pacific/Apia", "2011-12-30T09:00:00Z")).toBe("2011-12-30T18:00:00.000Z");
  expect(until(night.start, night.end, "Asia/Kathmandu", "2026-01-01T20:00:00Z")).toBe("2026-01-02T02:15:00.000Z");
});

/** A day in each of whose hours, or of the next day's, the clock in `zone` may be moved; the year's first day if it is not. */
function dayOfChange(zone: string, year: number, last: boolean): number {
  const DAY = 86_400_000;
  const clock = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, hour: "2-digit", minute: "2-digit" });
  const days = Array.from({ length: 365 }, (_, day) => Date.UTC(year, 0, 1) + day * DAY);
  const moved = days.filter((day) => clock.format(day) !== clock.format(day + DAY));
  return (last ? moved.at(-1) : moved[0]) ?? Date.UTC(year, 0, 1);
}

test("the moment is the one that somebody finds who looks at the clock each minute", () => {
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
