import { expect, test } from "@jest/globals";
import { isTimeZone } from "../../../lib/domain/time-zones.js";

test.each(["UTC", "Europe/Moscow", "Asia/Kolkata", "Asia/Calcutta", "America/Argentina/Buenos_Aires", "Etc/GMT+3"])(
  "%s is a time zone",
  (name) => expect(isTimeZone(name)).toBe(true),
);

test.each([
  "",
  "Europe/Atlantis",
  "Europe",
  "+03:00",
  "PST",
  "MSK",
  " Europe/Moscow",
  "Europe/Moscow\n",
  "../etc/passwd",
])("%j is not a time zone", (name) => expect(isTimeZone(name)).toBe(false));
