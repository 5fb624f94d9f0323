import { memoize } from "./memoize.js";

/** When a user wants no pushes, in local time: HH:MM:SS, the start included and the end excluded. */
export interface QuietHours {
  start: string;
  /** Earlier than `start` when the hours span midnight; equal to it when there are none. */
  end: string;
}

const DAY = 86_400;

function secondOfDay(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(":").map(Number);
  return hours * 3_600 + minutes * 60 + seconds;
}

/** Returns a function from Unix time in seconds to the zone's local time in seconds since midnight. */
const clockOf = memoize((zone): ((second: number) => number) => {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hourCycle: "h23",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  return (second) => secondOfDay(format.format(second * 1_000));
});

const modulo = (value: number, divisor: number) => ((value % divisor) + divisor) % divisor;

/**
 * Returns when the quiet hours at `at` end: the first moment whose local time in `zone` is outside them; null when `at` is
 * outside. An end that the clock skips is the moment of the change; in an hour that comes twice they apply twice.
 */
export function quietUntil({ start, end }: QuietHours, zone: string, at: Date): Date | null {
  const [from, to] = [secondOfDay(start), secondOfDay(end)];
  const clock = clockOf(zone);
  const isQuiet = (second: number) => modulo(clock(second) - from, DAY) < modulo(to - from, DAY);
  /** The zone's offset from UTC in seconds, modulo a day: it changes only when the clocks do. */
  const shift = (second: number) => modulo(clock(second) - second, DAY);

  let now = Math.floor(at.getTime() / 1_000);
  if (!isQuiet(now)) return null;
  do {
    const ahead = now + modulo(to - clock(now), DAY);
    if (shift(ahead) === shift(now)) return new Date(ahead * 1_000);
    // the clocks change before then: continue from the first second after the change
    let [before, after] = [now, ahead];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (shift(middle) === shift(now)) before = middle;
      else after = middle;
    }
    now = after;
  } while (isQuiet(now));
  return new Date(now * 1_000);
}
