import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { NotUtf8, Utf8Check } from "../../../lib/menu-csv/utf8.js";

/** The line of the first error in bytes that come in chunks; null without an error. */
function wrongLine(bytes: Buffer, pieceBytes: number): number | null {
  const check = new Utf8Check();
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) check.add(bytes.subarray(at, at + pieceBytes));
    check.end();
    return null;
  } catch (error) {
    if (error instanceof NotUtf8) return error.line;
    throw error;
  }
}

test("valid text passes in any chunking", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 9 }), (text, pieceBytes) => {
      expect(wrongLine(Buffer.from(text.toWellFormed()), pieceBytes)).toBeNull();
    }),
  );
});

test("invalid bytes are found in their line, in any chunking", () => {
  const before = fc.string({ unit: fc.constantFrom("a", "б", "ე", "😀", "\n", "\r"), maxLength: 20 });
  const wrong = fc.constantFrom([0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0x80], [0xcf, 0xf0], [0xf0, 0x9f, 0x98]);
  fc.assert(
    fc.property(before, wrong, fc.integer({ min: 1, max: 9 }), (text, bytes, pieceBytes) => {
      const lines = (text.match(/\r\n|\n|\r/g)?.length ?? 0) + 1;
      const file = Buffer.concat([Buffer.from(text), Buffer.from(bytes), Buffer.from("x\ny")]);
      expect(wrongLine(file, pieceBytes)).toBe(lines);
    }),
  );
});

test("a truncated character at the end is found", () => {
  expect(wrongLine(Buffer.from([0x0a, 0xd0]), 10)).toBe(2);
});
