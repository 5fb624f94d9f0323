import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { minorOfDouble } from "../../../lib/pos/menu.js";

const minor = fc.integer({ min: 0, max: 1_000_000_000 });

test("every amount of minor units survives the conversion to a vendor's double", () => {
  fc.assert(
    fc.property(minor, fc.integer({ min: 1, max: 9 }), (amount, by) => {
      expect(minorOfDouble(amount / 100)).toBe(amount);
      expect(minorOfDouble(amount * 0.01)).toBe(amount);
      expect(minorOfDouble(((amount / 100) * by) / by)).toBe(amount);
    }),
    { numRuns: 2_000 },
  );
});

test("an amount between two minor units is refused, not rounded", () => {
  fc.assert(
    fc.property(minor, fc.integer({ min: 1, max: 9 }), (amount, tenth) => {
      expect(minorOfDouble((amount * 10 + tenth) / 1_000)).toBeNull();
    }),
  );
});

test.each([-0.01, -1, NaN, Infinity, -Infinity, 1e21, Number.MAX_VALUE])("%p is not a price", (price) => {
  expect(minorOfDouble(price)).toBeNull();
});
