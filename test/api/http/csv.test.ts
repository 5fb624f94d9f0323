import { expect, test } from "@jest/globals";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { z } from "zod";
import { columnsOf, toCsv } from "../../../api/http/csv.js";

test("the columns are the fields of the object, or of the objects in the list", () => {
  const row = z.object({ a: z.string(), b: z.number() });
  expect([columnsOf(row), columnsOf(z.array(row))]).toEqual([
    ["a", "b"],
    ["a", "b"],
  ]);
  expect(() => columnsOf(z.string())).toThrow();
});

test("reading the CSV returns exactly the values that were written", () => {
  const value = fc.oneof(
    fc.string({ unit: "binary" }).filter((text) => !/^[=+\-@\t\r]/.test(text)),
    fc.integer(),
  );
  fc.assert(
    fc.property(fc.array(fc.record({ a: value, b: value }), { minLength: 1 }), (rows) => {
      const csv = toCsv(["a", "b"], rows);
      const read: unknown = parse(csv, { columns: true, record_delimiter: "\r\n" });
      expect(read).toEqual(rows.map(({ a, b }) => ({ a: String(a), b: String(b) })));
    }),
  );
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])(
  "%j is escaped as text, so that it is no formula",
  (text) => {
    expect(toCsv(["a"], [{ a: text }])).toMatch(/^a\r\n"?'/);
  },
);

test("an instant is written in UTC, as in JSON", () => {
  expect(toCsv(["at"], { at: new Date("2026-06-01T18:00:00+03:00") })).toBe("at\r\n2026-06-01T15:00:00.000Z\r\n");
});

test("numbers stay numbers, and null is empty", () => {
  expect(toCsv(["a", "b", "c"], { a: -1.5, b: null, c: true })).toBe("a,b,c\r\n-1.5,,true\r\n");
});
