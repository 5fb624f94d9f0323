import { expect, test } from "@jest/globals";
import { describeError, describeErrorWithStack } from "../../../lib/process/describe-error.js";

class Refusal extends Error {
  override name = "Refusal";
}

test.each([
  ['invalid input syntax for type uuid: "Anna"', "invalid input syntax for type uuid: …"],
  ["no user 'Anna Ivanova' here", "no user … here"],
  ["mail to anna@example.org failed", "mail to … failed"],
  ["cannot call +7 (916) 123-45-67 now", "cannot call … now"],
  ["the gateway answered 503 after 3 tries", "the gateway answered 503 after 3 tries"],
  ["two\nlines\0and a NUL", "two lines and a NUL"],
])("%j is described without its values", (message, described) => {
  expect(describeError(new Refusal(message))).toBe(`Refusal: ${described}`);
});

test("a database error is described by its code and constraint", () => {
  const error = Object.assign(new Error('duplicate key value violates unique constraint "users_by_phone"'), {
    code: "23505",
    constraint_name: "users_by_phone",
    detail: "Key (phone)=(+79161234567) already exists.",
  });
  expect(describeError(error)).toBe("Error 23505 users_by_phone: duplicate key value violates unique constraint …");
});

test("descriptions are short, and thrown values that are not errors are named as such", () => {
  expect(describeError(new Error("x".repeat(10_000)))).toHaveLength(300);
  expect(describeError("Anna")).not.toContain("Anna");
});

test("the stack is kept without the message", () => {
  const text = describeErrorWithStack(new Error('first "Anna"\nsecond "Anna"'));
  expect(text).not.toContain("Anna");
  expect(text).toContain("describe-error.test");
});
