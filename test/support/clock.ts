import { jest } from "@jest/globals";

/**
 * Stops the clock of `Date`, and nothing else, so that no test is cut by the turn of a minute. The function that it
 * gives moves on to 20.5 seconds past a minute that was not there before.
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
