import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { addressKey, canonicalAddress } from "../../../lib/geocoding/address-key.js";

test.each([
  ["case", "тверская УЛИЦА, 1"],
  ["blanks", " Тверская  улица ,\u00a01\n"],
  ["commas at the ends, or twice", ",Тверская улица,, 1, "],
  ["the encoding of letters", "Тверская улица, 1".normalize("NFD")],
  ["the width of digits and commas", "Тверская\u3000улица，１"],
])("addresses that differ in nothing but %s are the same", (_what, same) => {
  expect(canonicalAddress(same)).toBe("тверская улица, 1");
});

test.each(["Тверская улица, 11", "Тверская улица, 1²", "Тверская улица, ①", "Тверская; улица, 1", "Тверская улица 1"])(
  "%s is another",
  (other) => {
    expect(addressKey(canonicalAddress(other))).not.toBe(addressKey("тверская улица, 1"));
  },
);

test("the canonical form is its own, and its key is short, whatever was written", () => {
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
