import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { estimateEnd, partOf } from "../../../lib/domain/progress.js";

const started = new Date("2026-06-01T12:00:00.000Z");
const after = (minutes: number) => started.getTime() + minutes * 60_000;

test("the part that is done is unknown without a total, and never more than all", () => {
  expect([partOf(1, 4), partOf(9, 4), partOf(-1, 4), partOf(0, 0), partOf(7, null)]).toEqual([0.25, 1, 0, null, null]);
});

test("the end is estimated from the pace so far", () => {
  expect(estimateEnd(0.25, started, after(1))).toEqual(new Date("2026-06-01T12:04:00.000Z"));
  expect(estimateEnd(0.5, started, after(90))).toEqual(new Date("2026-06-01T15:00:00.000Z"));
});

test("what was done before the start says nothing about the pace", () => {
  expect(estimateEnd(0.75, started, after(1), 0.5)).toEqual(new Date("2026-06-01T12:02:00.000Z"));
  expect(estimateEnd(0.5, started, after(1), 0.5)).toBeNull();
});

test("there is no estimate before one hundredth is done, after the end, or without a start", () => {
  for (const part of [null, 0, 0.009, 1, NaN]) expect(estimateEnd(part, started, after(1))).toBeNull();
  expect(estimateEnd(0.5, null, after(1))).toBeNull();
  expect(estimateEnd(0.5, started, after(-1))).toBeNull();
});

test("an estimate is a time after now", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -10, max: 1_000_000 }),
      fc.integer({ min: -10, max: 1_000_000 }),
      fc.integer({ min: -1_000, max: 10 * 365 * 86_400_000 }),
      (done, total, passed) => {
        const now = started.getTime() + passed;
        const end = estimateEnd(partOf(done, total), started, now);
        if (end !== null) expect(end.getTime()).toBeGreaterThanOrEqual(now);
      },
    ),
  );
});
