import { expect, test } from "@jest/globals";
import { z } from "zod";
import { describeIssue } from "../../../lib/process/input-errors.js";

const wordsOf = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value, { error: describeIssue }).error?.issues.map(({ message }) => message);

const line = z.union([
  z.object({ menuItemId: z.uuid(), qty: z.int() }),
  z.object({ boxId: z.uuid(), qty: z.int(), bag: z.boolean() }),
]);
const id = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";

test.each<[string, z.ZodType, unknown, string]>([
  ["a missing value", z.object({ name: z.string() }), {}, "is missing"],
  ["a missing choice", z.object({ role: z.enum(["A", "B"]) }), {}, "is missing"],
  ["another type", z.string(), 5, "must be text"],
  ["null", z.boolean(), null, "must be true or false"],
  ["text in place of a number", z.number(), "5", "must be a number"],
  ["a fraction", z.int(), 1.5, "must be a whole number"],
  ["a list in place of an object", z.object({}), [], "must be an object"],
  ["an object in place of a list", z.array(z.string()), {}, "must be a list"],
  ["empty text", z.string().min(1), "", "must not be empty"],
  ["short text", z.string().min(3), "a", "must have at least 3 characters"],
  ["long text", z.string().max(1), "ab", "must have at most 1 character"],
  ["an empty list", z.array(z.string()).min(1), [], "must not be empty"],
  ["a long list", z.array(z.string()).max(2), ["a", "b", "c"], "must have at most 2 entries"],
  ["a small number", z.number().min(1), 0, "must be at least 1"],
  ["a number that is not above its bound", z.number().positive(), 0, "must be above 0"],
  ["a large number", z.int().max(5), 6, "must be at most 5"],
  ["an unknown choice", z.enum(["A", "B"]), "C", "must be one of A, B"],
  ["an invalid UUID", z.uuid(), "x", "must be a UUID"],
  ["an invalid e-mail address", z.email(), "x", "must be an e-mail address"],
  ["a missing union", z.object({ line }), {}, "is missing"],
  ["what one of several forms needs", line, { qty: 1, bag: true }, "needs menuItemId or boxId"],
  ["what all forms need, and what each one needs", line, {}, "needs menuItemId or boxId and bag, and qty"],
  ["a form with all its fields, of which one is wrong", line, { menuItemId: id, qty: "1" }, "qty must be a number"],
  ["something else than any form", line, "x", "must be an object"],
  ["something else than several types", z.union([z.string(), z.number()]), true, "must be of another form"],
  ["a schema with its own message", z.string().regex(/^a/, "must begin with a"), "b", "must begin with a"],
])("the message for %s", (_case, schema, value, words) => {
  expect(wordsOf(schema, value)).toEqual([words]);
});
