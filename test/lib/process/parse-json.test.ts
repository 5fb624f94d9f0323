import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { MAX_JSON_DEPTH, parseJsonBody } from "../../../lib/process/parse-json.js";

const parse = (text: string) => parseJsonBody(Buffer.from(text));

/** A value inside as many lists and objects. */
const nested = (value: unknown, levels: number): unknown =>
  Array.from({ length: levels }).reduce<unknown>(
    (inner, _, level) => (level % 2 === 0 ? [inner, 0] : { 'a"\\': inner, b: "[{" }),
    value,
  );

describe("the body of a request", () => {
  test("is parsed as JSON, whatever its texts contain", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
    for (const text of ['"\\\\"', '{"[[[":"\\"{{{"}', '"\\u005b"', "  [ ]\n", "\ufeff{}"])
      expect(parse(text)).toEqual(JSON.parse(text.replace("\ufeff", "")));
  });

  test("is not parsed when it is nested too deep, valid or not", () => {
    for (const value of [1, "]", [], "\\"]) {
      const own = Array.isArray(value) ? 1 : 0;
      const deepest = nested(value, MAX_JSON_DEPTH - own);
      expect(parse(JSON.stringify(deepest))).toEqual(deepest);
      expect(parse(JSON.stringify([deepest]))).toBeUndefined();
    }
    for (const text of ["[".repeat(1_000_000), '{"a":'.repeat(200_000), "[{".repeat(50) + "}]".repeat(50)])
      expect(parse(text)).toBeUndefined();
  });

  test("that is no JSON is undefined", () => {
    for (const text of ["", "{", "]]", '"', "{}{}", "\\", "NaN"]) expect(parse(text)).toBeUndefined();
  });

  test("may be wide", () => {
    const wide = Array.from({ length: 10_000 }, (_, n) => ({ n: [n] }));
    expect(parse(JSON.stringify(wide))).toEqual(wide);
  });
});
