import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { addressKey, canonicalAddress } from "../../../lib/geocoding/address-key.js";

test.each([
  ["case", "тверская УЛИЦА, 1"],
  ["whitespace", " Тверская  улица ,\u00a01\n"],
  ["leading, trailing or repeated commas", ",Тверская улица,, 1, "],
  ["the Unicode normalisation", "Тверская улица, 1".normalize("NFD")],
  ["the width of digits and commas", "Тверская\u3000улица，１"],
])("addresses that differ only in %s are the same", (_what, same) => {
  expect(canonicalAddress(same)).toBe("тверская улица, 1");
});

test.each(["Тверская улица, 11", "Тверская улица, 1²", "Тверская улица, ①", "Тверская; улица, 1", "Тверская улица 1"])(
  "%s is a different address",
  (other) => {
    expect(addressKey(canonicalAddress(other))).not.toBe(addressKey("тверская улица, 1"));
  },
);

test("canonicalising is idempotent, and keys are short, for any input", () => {
  const wide = fc.constantFrom("А", "İ", "ß", "Σ", "é", "ｶ", "ﾞ", "，", "￣", "²", "ﷺ", ",", " ", "\u3000");
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: wide })), (address) => {
      const canonical = canonicalAddress(address);
      expect(canonicalAddress(canonical)).toBe(canonical);
      expect(addressKey(canonical)).toMatch(/^[0-9a-f]{64}$/);
    }),
    { numRuns: 1_000 },
  );
});
