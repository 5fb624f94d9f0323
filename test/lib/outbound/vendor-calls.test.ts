import { expect, test } from "@jest/globals";
import { recentCalls, recordCall } from "../../../lib/outbound/vendor-calls.js";

const minute = 60_000;

test("the calls of the last five minutes are counted by vendor", () => {
  const now = 1_000 * minute;
  for (const [at, failed] of [
    [0, true],
    [996, true],
    [997, false],
    [1_000, true],
    [1_000, false],
  ] as const)
    recordCall("fcm", failed, at * minute);
  recordCall("SMS", false, 990 * minute);
  expect(recentCalls(now)).toEqual([{ vendor: "fcm", calls: 4, failed: 2 }]);
  expect(recentCalls(now + 10 * minute)).toEqual([]);
});
