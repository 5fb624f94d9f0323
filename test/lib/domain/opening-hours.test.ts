import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { openingHoursErrors, type OpeningHours } from "../../../lib/domain/opening-hours.js";

const clock = (minute: number) =>
  `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;

const spans = fc.array(
  fc.record({
    day: fc.integer({ min: 1, max: 3 }),
    opens: fc.integer({ min: 0, max: 1_439 }),
    closes: fc.integer({ min: 0, max: 1_440 }),
  }),
  { maxLength: 5 },
);

test("hours are valid when no minute of the week is opened twice and none closes before it opens", () => {
  fc.assert(
    fc.property(spans, (given) => {
      const minutes = given.flatMap(({ day, opens, closes }) =>
        Array.from({ length: Math.max(closes - opens, 0) }, (_, n) => day * 10_000 + opens + n),
      );
      const right = given.every(({ opens, closes }) => opens < closes) && new Set(minutes).size === minutes.length;
      const hours = given.map(({ day, opens, closes }): OpeningHours => ({
        day,
        opens: clock(opens),
        closes: clock(closes),
      }));
      expect(openingHoursErrors(hours).length === 0).toBe(right);
    }),
    { numRuns: 500 },
  );
});

test("an invalid entry is named", () => {
  const morning = { day: 1, opens: "08:00", closes: "12:00" };
  expect(
    openingHoursErrors([
      morning,
      { day: 2, opens: "10:00", closes: "10:00" },
      { day: 1, opens: "11:59", closes: "24:00" },
    ]),
  ).toEqual([
    { index: 1, message: "must close after it opens" },
    { index: 2, message: "must not overlap other hours of the day" },
  ]);
});
