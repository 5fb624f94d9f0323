import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { nextWait, pauseAfter } from "../../../lib/domain/webhook-retries.js";

const DAY_SECONDS = 24 * 60 * 60;
const random = fc.double({ min: 0, max: 1, noNaN: true });

/** The waits of a message that always fails. */
function waitsOf(luck: number): number[] {
  const waits: number[] = [];
  for (let attempts = 1; ; attempts += 1) {
    const wait = nextWait(attempts, null, luck);
    if (wait === null) return waits;
    waits.push(wait);
  }
}

describe("a message that fails", () => {
  test("is tried again for a day, less and less often", () => {
    const waits = waitsOf(0.5);
    expect(waits.reduce((sum, wait) => sum + wait)).toBeCloseTo(DAY_SECONDS);
    expect(waits.slice(0, -1)).toEqual(waits.slice(0, -1).toSorted((one, other) => one - other));
    expect(waits[0]).toBeLessThanOrEqual(10);
  });

  test("waits a fifth less or more, and never less than its receiver asked for", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), random, fc.nat(30_000), (attempts, luck, asked) => {
        const usual = nextWait(attempts, null, 0.5)!;
        const wait = nextWait(attempts, null, luck)!;
        expect(Math.abs(wait - usual)).toBeLessThanOrEqual(usual * 0.2 + 1e-6);
        expect(nextWait(attempts, asked, luck)).toBe(Math.max(wait, asked));
      }),
    );
  });
});

test("a receiver that fails is left alone for twice as long each time, up to five minutes", () => {
  expect([1, 2, 3, 8, 9, 10, 1_000].map((failures) => pauseAfter(failures, null, 0.5))).toEqual([
    1, 2, 4, 128, 256, 300, 300,
  ]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000 }), random, fc.nat(30_000), (failures, luck, asked) => {
      const pause = pauseAfter(failures, asked, luck);
      expect(pause).toBeGreaterThanOrEqual(Math.min(asked, 300));
      expect(pause).toBeLessThanOrEqual(360 + 1e-9);
    }),
  );
});
