import { jest } from "@jest/globals";

/**
 * Stops the clock of `Date` only, so that no test runs across the end of a minute. The returned function moves the clock
 * to 20.5 seconds past a new minute.
 */
export function stopTheClock(): () => void {
  const running = [
    "setTimeout",
    "clearTimeout",
    "setInterval",
    "clearInterval",
    "setImmediate",
    "clearImmediate",
  ] as const;
  jest.useFakeTimers({ doNotFake: [...running, "hrtime", "nextTick", "performance", "queueMicrotask"] });
  let minute = Math.floor(Date.now() / 60_000);
  return () => {
    minute += 1;
    jest.setSystemTime(minute * 60_000 + 20_500);
  };
}
