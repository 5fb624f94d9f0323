import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { isServiceId, newServiceId } from "../../../lib/domain/service-id.js";

const alphabet = Array.from("0123456789ABCDEFGHJKMNPQRSTVWXYZ");
const anyServiceId = fc.constant(null).map(newServiceId);

test("new ids are short, unambiguous and have a valid check character", () => {
  const ids = Array.from({ length: 1_000 }, newServiceId);
  for (const id of ids) {
    expect(id).toMatch(/^SF-[0-9A-HJKMNP-TV-Z]{8}$/);
    expect(isServiceId(id)).toBe(true);
  }
  expect(new Set(ids).size).toBe(ids.length);
});

test("one wrong character is always detected", () => {
  fc.assert(
    fc.property(
      anyServiceId,
      fc.integer({ min: 3, max: 10 }),
      fc.constantFrom(...alphabet),
      (id, position, character) => {
        const typed = id.slice(0, position) + character + id.slice(position + 1);
        expect(isServiceId(typed)).toBe(typed === id);
      },
    ),
  );
});

test("two swapped neighbours are always detected", () => {
  fc.assert(
    fc.property(anyServiceId, fc.integer({ min: 3, max: 9 }), (id, position) => {
      const typed = id.slice(0, position) + id.charAt(position + 1) + id.charAt(position) + id.slice(position + 2);
      expect(isServiceId(typed)).toBe(typed === id);
    }),
  );
});

test.each(["", "SF-", "SF-0000000", "SF-000000000", "sf-00000000", "SF-0000000I", "00000000", "SF-00000000 "])(
  "%j is not a service id",
  (text) => {
    expect(isServiceId(text)).toBe(false);
  },
);
