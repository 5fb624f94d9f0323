import { expect, test } from "@jest/globals";
import { memoize } from "../../../lib/domain/memoize.js";

test("each value is computed once, up to the limit of entries", () => {
  const made: string[] = [];
  const find = memoize((key) => {
    made.push(key);
    return { key };
  }, 2);
  expect(find("a")).toBe(find("a"));
  expect(find("b")).toEqual({ key: "b" });
  expect(made).toEqual(["a", "b"]);
  find("c");
  expect([find("c").key, find("a").key]).toEqual(["c", "a"]);
  expect(made).toEqual(["a", "b", "c", "a"]);
});
