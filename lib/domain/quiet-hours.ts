import { memoize } from "./memoize.js";

/** Hours in which a person wants to hear nothing, by the clock on their wall: HH:MM:SS each, the start is in and the end is out. */
export interface QuietHours {
  start: string;
  /** Earlier than `start` when the hours go over midnight; the same when there are none. */
  end: string;
}

const DAY = 86_400;

function secondOfDay(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(":").map(Number);
  return hours * 3_600 + minutes * 60 + seconds;
}

/** The seconds since midnight that a clock in `zone` shows at a Unix time in seconds. */
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
 * When the quiet hours that hold at `at` end: the first moment at which the clock in `zone` shows a time outside of them.
 * Null when none hold. An end that the clock skips is the moment of the jump; in an hour that comes twice they hold twice.
 */
export function quietUntil({ start, end }: QuietHours, zone: string, at: Date): Date | null {
  const [from, to] = [secondOfDay(start), secondOfDay(end)];
  const clock = clockOf(zone);
  const isQuiet = (second: number) => modulo(clock(second) - from, DAY) < modulo(to - from, DAY);
  /** How far the clock is from that of UTC, in seconds of a day: it changes only when the clock is moved. */
  const shift = (second: number) => modulo(clock(second) - second, DAY);

  let now = Math.floor(at.getTime() / 1_000);
  if (!isQuiet(now)) return null;
  do {
    const ahead = now + modulo(to - clock(now), DAY);
    if (shift(ahead) === shift(now)) return new Date(ahead * 1_000);
    // the clock is moved before then: go on from the first second after that
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
