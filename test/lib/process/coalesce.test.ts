import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { coalesce } from "../../../lib/process/coalesce.js";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test("the first call leads to a run at once, all others until the end of the rest to one, and the last call always to one", async () => {
  let runs = 0;
  const run = coalesce(() => Promise.resolve((runs += 1)), 10);
  for (let calls = 0; calls < 1_000; calls += 1) run();
  expect(runs).toBe(1);
  await jest.advanceTimersByTimeAsync(9);
  run();
  expect(runs).toBe(1);
  await jest.advanceTimersByTimeAsync(1);
  expect(runs).toBe(2);
  await jest.advanceTimersByTimeAsync(100);
  expect(runs).toBe(2);
  run();
  expect(runs).toBe(3);
});
