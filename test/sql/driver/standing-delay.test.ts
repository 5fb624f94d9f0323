import { expect, test } from "@jest/globals";
import { openStandingDelay } from "../../../sql/driver/standing-delay.js";

type Delay = ReturnType<typeof openStandingDelay>;

/** Returns a delay, and a function that sets the clock and then does something with it. */
function withClock() {
  let now = 0;
  const delay = openStandingDelay(() => now);
  const at = <T>(time: number, act: (delay: Delay) => T): T => {
    now = time;
    return act(delay);
  };
  const ended = (time: number, tookMs: number) => at(time, (each) => each.note(time - tookMs));
  return { at, ended };
}

test("the delay is that of the fastest statement of an interval", () => {
  const { at, ended } = withClock();
  ended(1_000, 900);
  ended(1_010, 700);
  expect(at(1_020, (delay) => delay.ms())).toBe(900);
  ended(1_090, 800);
  expect(at(1_110, (delay) => delay.ms())).toBe(700);
  // nothing has ended since
  expect(at(9_000, (delay) => delay.ms())).toBe(700);
  ended(9_001, 40);
  expect(at(9_002, (delay) => delay.ms())).toBe(40);
});

test("there is none while statements start at once", () => {
  const { at, ended } = withClock();
  ended(1_000, 900);
  expect(at(1_100, (delay) => delay.ms())).toBe(900);
  at(1_150, (delay) => delay.reset());
  expect(at(1_150, (delay) => delay.ms())).toBe(0);
});
