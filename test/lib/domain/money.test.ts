import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { toMajor, toMinor } from "../../../lib/domain/money.js";

const largest = 999_999_999_999_999;
const anyMinor = fc.oneof(fc.integer({ min: 0, max: 1_000_000 }), fc.integer({ min: 0, max: largest }));

test.each([
  [0, 0],
  [-0, 0],
  [0.01, 1],
  [0.1, 10],
  [1, 100],
  [1.1, 110],
  [4.35, 435],
  [249.9, 24_990],
  [8_200_000.05, 820_000_005],
  [9_999_999_999_999.99, largest],
])("%d is %d minor units and back", (major, minor) => {
  expect(toMinor(major)).toBe(minor);
  expect(toMajor(minor)).toBe(Math.abs(major));
});

test("every amount survives the conversion to major units, to JSON and back", () => {
  fc.assert(
    fc.property(anyMinor, (minor) => {
      const received: unknown = JSON.parse(JSON.stringify(toMajor(minor)));
      expect(toMinor(Number(received))).toBe(minor);
    }),
  );
});

test("conversion keeps the order of amounts", () => {
  fc.assert(
    fc.property(anyMinor, anyMinor, (one, other) => {
      expect(Math.sign(toMajor(one) - toMajor(other))).toBe(Math.sign(one - other));
    }),
  );
});

test("a debit is written with the digits of the credit", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: largest }), (minor) => expect(toMajor(-minor)).toBe(-toMajor(minor))),
  );
});

describe("an invalid amount is refused:", () => {
  test.each([-0.01, -1, 0.001, 1.005, 0.1 + 0.2, 1e-7, 1e21, 1e13, NaN, Infinity, -Infinity])("%d", (major) => {
    expect(toMinor(major)).toBeNull();
  });

  test("any amount with three decimals", () => {
    fc.assert(
      fc.property(
        fc.nat(10_000_000).filter((thousandths) => thousandths % 10 !== 0),
        (thousandths) => expect(toMinor(thousandths / 1_000)).toBeNull(),
      ),
    );
  });

  test("a number is either refused or a whole, non-negative number of minor units", () => {
    fc.assert(
      fc.property(fc.double(), (major) => {
        const minor = toMinor(major);
        expect(minor === null || (Number.isSafeInteger(minor) && minor >= 0)).toBe(true);
      }),
    );
  });
});
