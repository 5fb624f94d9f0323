import { memoize } from "./memoize.js";

/** A range of days in a time zone, as dates and as instants. */
export interface Days {
  zone: string;
  /** The first and the last day, both included: YYYY-MM-DD. */
  first: string;
  last: string;
  /** The start of the first day, and of the day after the last. */
  from: Date;
  until: Date;
}

export const periods = { "7d": 7, "30d": 30, "90d": 90, "1y": 365 } as const;

export type Period = keyof typeof periods;

const dayMs = 24 * 60 * 60 * 1_000;

const formatOf = memoize(
  (timeZone) => new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" }),
);

/** Returns the day of an instant in a zone: YYYY-MM-DD. */
export const dayOf = (instant: number, zone: string): string => formatOf(zone).format(instant);

/** Adds days to a date; `days` may be negative. */
export const addDays = (day: string, days: number) =>
  new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10);

/**
 * Returns the first instant of a day, to the millisecond: midnight, or the moment of the change where clocks go forward
 * at midnight.
 */
export function startOfDay(day: string, zone: string): Date {
  // no zone is further from UTC than a day
  let before = Date.parse(day) - dayMs;
  let within = Date.parse(day) + dayMs;
  while (within - before > 1) {
    const middle = Math.floor((before + within) / 2);
    if (dayOf(middle, zone) < day) before = middle;
    else within = middle;
  }
  return new Date(within);
}

/** Returns the days of a period, the last of which is the day of `now`. */
export function daysOf(period: Period, now: number, zone: string): Days {
  const last = dayOf(now, zone);
  const first = addDays(last, 1 - periods[period]);
  return { zone, first, last, from: startOfDay(first, zone), until: startOfDay(addDays(last, 1), zone) };
}
