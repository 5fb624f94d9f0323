// Calendar files (iCalendar, RFC 5545), as calendars on phones and computers import them.

/** An event as a calendar shows it. */
export interface CalendarEvent {
  /** The same in every version of the event, so that a calendar replaces the earlier one. */
  id: string;
  /** Larger in later versions. */
  sequence: number;
  updatedAt: Date;
  cancelled: boolean;
  startsAt: Date;
  /** Null for a moment. */
  endsAt: Date | null;
  title: string;
  description: string;
  place: string;
  latitude: number;
  longitude: number;
}

const LONGEST_LINE = 75;

/** An instant in UTC, such as `20260601T150000Z`. */
const instant = (date: Date): string => date.toISOString().replace(/[-:]|\.\d+/g, "");

/** Text as a value: separators escaped, without control characters. */
const text = (value: string): string =>
  value
    .toWellFormed()
    .replace(/[\\;,]/g, "\\$&")
    .replace(/\r\n|\r|\n/g, "\\n")
    .replace(/(?!\t)\p{Cc}/gu, "");

/** Folds a line after at most 75 bytes, never within a character; the space that begins a further line is one of them. */
function fold(line: string): string {
  let folded = "";
  let bytes = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (bytes + size > LONGEST_LINE) {
      folded += "\r\n ";
      bytes = 1;
    }
    folded += character;
    bytes += size;
  }
  return folded;
}

/** Returns a calendar of one event. */
export function toCalendar(event: CalendarEvent): string {
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//surplus-food//orders//EN",
    "METHOD:PUBLISH",
    "BEGIN:VEVENT",
    `UID:${text(event.id)}`,
    `SEQUENCE:${event.sequence}`,
    `DTSTAMP:${instant(event.updatedAt)}`,
    `DTSTART:${instant(event.startsAt)}`,
    ...(event.endsAt === null ? [] : [`DTEND:${instant(event.endsAt)}`]),
    `STATUS:${event.cancelled ? "CANCELLED" : "CONFIRMED"}`,
    // the owner of the calendar is free at that time
    "TRANSP:TRANSPARENT",
    `SUMMARY:${text(event.title)}`,
    `DESCRIPTION:${text(event.description)}`,
    `LOCATION:${text(event.place)}`,
    `GEO:${event.latitude.toFixed(6)};${event.longitude.toFixed(6)}`,
    "END:VEVENT",
    "END:VCALENDAR",
  ];
  return lines.map((line) => `${fold(line)}\r\n`).join("");
}
