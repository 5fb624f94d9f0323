import { expect, test } from "@jest/globals";
import { retryAfterSeconds, waitInWords } from "../../../lib/outbound/retry-after.js";

const now = new Date("2026-03-10T12:00:00.250Z");

test.each([
  [undefined, null],
  ["", null],
  ["soon", null],
  ["-5", 0],
  ["0", 0],
  ["120", 120],
  [" 120 ", 120],
  ["99999999999", 86_400],
  ["Tue, 10 Mar 2026 12:01:00 GMT", 60],
  ["Tue, 10 Mar 2026 11:00:00 GMT", 0],
  ["Wed, 10 Mar 2027 11:00:00 GMT", 86_400],
])("%j asks to wait for %j seconds", (header, seconds) => {
  expect(retryAfterSeconds(header, now)).toBe(seconds);
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
  expect(waitInWords(seconds)).toBe(words);
});
