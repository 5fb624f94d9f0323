import { expect, test } from "@jest/globals";
import { retryAfterSeconds, formatWait } from "../../../lib/outbound/retry-after.js";

const now = new Date("2026-03-10T12:00:00.250Z");

test.each([
  ["0", 0],
  ["7", 7],
  [" 120 ", 120],
  ["3600", 3_600],
  ["3601", 3_600],
  ["999999999999999999999", 3_600],
  ["Tue, 10 Mar 2026 12:00:30 GMT", 30],
  ["Tuesday, 10-Mar-26 12:00:30 GMT", 30],
  ["Tue Mar 10 12:00:30 2026 GMT", 30],
  ["Tue, 10 Mar 2026 11:59:00 GMT", 0],
  ["Mon, 10 Mar 2036 12:00:00 GMT", 3_600],
  ["-5", null],
  ["1.5", null],
  ["1e3", null],
  ["soon", null],
  ["Sunday", null],
  ["Tuesday soon", null],
  ["2026-03-10T12:00:30Z", null],
  ["", null],
  [undefined, null],
  [["1", "2"], null],
])("with a limit of an hour, %j asks to wait %j seconds", (header, seconds) => {
  expect(retryAfterSeconds(header, now, 3_600)).toBe(seconds);
});

test.each([
  [1, "1 second"],
  [59.2, "60 seconds"],
  [119, "119 seconds"],
  [120, "2 minutes"],
  [241, "5 minutes"],
  [7_140, "119 minutes"],
  [7_141, "2 hours"],
  [86_400, "24 hours"],
])("%d seconds are %s", (seconds, words) => {
  expect(formatWait(seconds)).toBe(words);
});
