import { expect, test } from "@jest/globals";
import { lastCalls, recentCalls, recordCall } from "../../../lib/outbound/vendor-calls.js";

const minute = 60_000;
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

test("the calls of the last five minutes are counted by vendor", () => {
  expect(recentCalls(now)).toEqual([{ vendor: "fcm", calls: 4, failed: 2 }]);
  expect(recentCalls(now + 10 * minute)).toEqual([]);
});

test("of each vendor the last call that succeeded and the last one that failed are known", () => {
  expect(lastCalls()).toEqual([
    { vendor: "fcm", succeededAt: new Date(now), failedAt: new Date(now) },
    { vendor: "SMS", succeededAt: new Date(990 * minute), failedAt: null },
  ]);
});
