import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { ShortCache } from "../../../api/http/short-cache.js";

let now = 0;
let loads: string[] = [];

beforeEach(() => {
  now = 1_000;
  loads = [];
  jest.spyOn(performance, "now").mockImplementation(() => now);
});

afterEach(() => {
  jest.restoreAllMocks();
});

const read = (cache: ShortCache<string>, key: string) =>
  cache.get(key, () => {
    loads.push(key);
    return Promise.resolve(`${key} ${loads.length}`);
  });

test("keeps a value for its time to live, and no longer", async () => {
  const cache = new ShortCache<string>(5_000, 10);
  expect(await read(cache, "a")).toBe("a 1");
  now += 4_999;
  expect(await read(cache, "a")).toBe("a 1");
  now += 1;
  expect(await read(cache, "a")).toBe("a 2");
});

test("a hundred concurrent reads wait for one load", async () => {
  const cache = new ShortCache<string>(5_000, 10);
  const answers = await Promise.all(Array.from({ length: 100 }, () => read(cache, "a")));
  expect(new Set(answers)).toEqual(new Set(["a 1"]));
  expect(loads).toEqual(["a"]);
});

test("never holds more keys than its limit: the oldest is evicted", async () => {
  const cache = new ShortCache<string>(5_000, 2);
  for (const key of ["a", "b", "c"]) {
    await read(cache, key);
    now += 1;
  }
  for (const key of ["c", "b", "a"]) await read(cache, key);
  expect(loads).toEqual(["a", "b", "c", "a"]);
});

test("a failed load rejects all who wait for it, and the next read loads again", async () => {
  const cache = new ShortCache<string>(5_000, 10);
  const failing = [1, 2].map(() => cache.get("a", () => Promise.reject(new Error("away"))));
  for (const answer of failing) await expect(answer).rejects.toThrow("away");
  expect(await read(cache, "a")).toBe("a 1");
});
