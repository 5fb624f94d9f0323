import { jest } from "@jest/globals";

/**
 * What no test fakes while connections are open. postgres.js keeps the result of `setImmediate`: a fake one that is cleared once
 * timers are real again upsets Node's count of immediates, and the test process waits for ever.
 */
export const neverFaked = ["nextTick", "setImmediate", "clearImmediate", "queueMicrotask"] as const;

const MINUTES_A_DAY = 24 * 60;
/** More than a file's tests move on. */
const MARGIN = 20;

/**
 * Stops the clock of `Date` only, so that no test runs across the end of a minute. The returned function moves the clock
 * to 20.5 seconds past a new minute. Shortly before midnight in UTC the minutes are those of the next day, because limits of a day
 * begin anew then.
 */
export function stopTheClock(): () => void {
  const running = ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] as const;
  let minute = Math.floor(Date.now() / 60_000);
  const left = MINUTES_A_DAY - (minute % MINUTES_A_DAY);
  if (left <= MARGIN) minute += left;
  const now = Math.max(minute * 60_000, Date.now());
  jest.useFakeTimers({ now, doNotFake: [...neverFaked, ...running, "hrtime", "performance"] });
  return () => {
    minute += 1;
    jest.setSystemTime(minute * 60_000 + 20_500);
  };
}
