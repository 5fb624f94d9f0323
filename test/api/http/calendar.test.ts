import { expect, test } from "@jest/globals";
import fc from "fast-check";
import ICAL from "ical.js";
import { toCalendar, type CalendarEvent } from "../../../api/http/calendar.js";

const event: CalendarEvent = {
  id: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f",
  sequence: 2,
  updatedAt: new Date("2026-06-01T12:00:00.123Z"),
  cancelled: false,
  startsAt: new Date("2026-06-01T15:00:00Z"),
  endsAt: new Date("2026-06-01T17:30:00Z"),
  title: "Забрать заказ: «Булочная»; у Анны, на углу",
  description: "2 × Багет\n1 × C:\\Хлеб",
  place: "Тверская улица, 1",
  latitude: 55.7575,
  longitude: -0.0000001,
};

/** The event as a calendar reads it. */
function read(file: string): ICAL.Component {
  const read = ICAL.Component.fromString(file).getFirstSubcomponent("vevent");
  if (!read) throw new Error("there is no event");
  return read;
}

const textOf = (file: string, name: string) => read(file).getFirstPropertyValue(name)?.toString();

test("a calendar is these lines", () => {
  expect(toCalendar(event).split("\r\n")).toEqual([
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//surplus-food//orders//EN",
    "METHOD:PUBLISH",
    "BEGIN:VEVENT",
    "UID:01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f",
    "SEQUENCE:2",
    "DTSTAMP:20260601T120000Z",
    "DTSTART:20260601T150000Z",
    "DTEND:20260601T173000Z",
    "STATUS:CONFIRMED",
    "TRANSP:TRANSPARENT",
    "SUMMARY:Забрать заказ: «Булочная»\\; у Анны\\, н",
    " а углу",
    "DESCRIPTION:2 × Багет\\n1 × C:\\\\Хлеб",
    "LOCATION:Тверская улица\\, 1",
    "GEO:55.757500;-0.000000",
    "END:VEVENT",
    "END:VCALENDAR",
    "",
  ]);
});

test("a moment has no end, and a cancelled event says so", () => {
  const file = toCalendar({ ...event, endsAt: null, cancelled: true });
  expect(file).not.toContain("DTEND");
  expect(textOf(file, "status")).toBe("CANCELLED");
});

/** What no text in a calendar may have. */
const withoutControls = (text: string) =>
  text
    .toWellFormed()
    .replace(/\r\n|\r/g, "\n")
    .replace(/(?![\t\n])\p{Cc}/gu, "");

test("a calendar reads exactly the texts that were written, and no line has more than 75 bytes", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.string({
      unit: fc.constantFrom("\\", ";", ",", ":", "n", "N", "\n", "\r", "\t", " ", "\u0000", '"', "é", "👩‍👩‍👧"),
      maxLength: 100,
    }),
  );
  fc.assert(
    fc.property(text, text, text, (start, description, place) => {
      const title = start + "e".repeat(200);
      const file = toCalendar({ ...event, title, description, place });
      expect([textOf(file, "summary"), textOf(file, "description"), textOf(file, "location")]).toEqual(
        [title, description, place].map(withoutControls),
      );
      expect(textOf(file, "uid")).toBe(event.id);
      for (const line of file.split("\r\n")) {
        expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
        expect(line).not.toMatch(/(?!\t)\p{Cc}/u);
      }
    }),
  );
});

test("whatever the instants, they are read as written, to the second, in UTC", () => {
  const date = fc.date({ min: new Date("2000-01-01"), max: new Date("2199-12-31"), noInvalidDate: true });
  fc.assert(
    fc.property(date, date, (startsAt, endsAt) => {
      const found = read(toCalendar({ ...event, startsAt, endsAt }));
      const seconds = ["dtstart", "dtend"].map((name) => {
        const value = found.getFirstPropertyValue(name);
        if (!(value instanceof ICAL.Time)) throw new Error(`${name} is no time`);
        return [value.zone, value.toUnixTime()];
      });
      const utc = ICAL.Timezone.utcTimezone;
      expect(seconds).toEqual([startsAt, endsAt].map((at) => [utc, Math.floor(at.getTime() / 1_000)]));
    }),
  );
});
