import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { describeError, describeErrorWithStack } from "../../../lib/process/describe-error.js";

class Refusal extends Error {
  override name = "Refusal";
}

test.each([
  ['invalid input syntax for type uuid: "Anna"', "invalid input syntax for type uuid: …"],
  ["no user 'Anna Ivanova' here", "no user … here"],
  ["no user 'Anna O'Brien' here, nor 'Boris'", "no user … here, nor …"],
  [
    "Hostname/IP does not match certificate's altnames: Host: db. is not in the cert's altnames: DNS:db.example.org",
    "Hostname/IP does not match certificate's altnames: Host: db. is not in the cert's altnames: DNS:db.example.org",
  ],
  ["the user's name 'Anna' isn't known", "the user's name … isn't known"],
  ["mail to anna@example.org failed", "mail to … failed"],
  ["cannot call +7 (916) 123-45-67 now", "cannot call … now"],
  ["the gateway answered 503 after 3 tries", "the gateway answered 503 after 3 tries"],
  ["two\nlines\0and a NUL", "two lines and a NUL"],
])("%j is described without its values", (message, described) => {
  expect(describeError(new Refusal(message))).toBe(`Refusal: ${described}`);
});

test("a quoted value is masked, wherever apostrophes stand beside it and in it", () => {
  const word = fc.constantFrom("the", "certificate's", "can't", "users'", "д'Артаньян", "=", "7");
  const secret = fc.constantFrom("SECRET", "O'SECRET", "SECRET's", "7 SECRET", "it's SECRET 'n");
  const value = fc
    .tuple(fc.constantFrom("", "(", "=", ":", "7"), secret, fc.constantFrom("", ")", ".", ","))
    .chain(([before, text, after]) => fc.constantFrom("'", '"').map((quote) => before + quote + text + quote + after));
  fc.assert(
    fc.property(fc.array(fc.oneof(word, value)), (parts) => {
      expect(describeError(new Error(parts.join(" ")))).not.toContain("SECRET");
    }),
  );
});

test("whatever stood between two apostrophes is masked as before, unless one stands after a letter", () => {
  const text = fc.string({ unit: fc.constantFrom("'", "'", " ", "1", "-", "a") });
  fc.assert(
    fc.property(text, text, (before, after) => {
      // no apostrophe after a letter
      const message = `${before} 'SECRET ' ${after}`.replace(/a'/g, "a");
      const masked = message.replace(/'[^']*'/g, "…");
      fc.pre(!masked.includes("SECRET"));
      expect(describeError(new Error(message))).not.toContain("SECRET");
    }),
  );
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
