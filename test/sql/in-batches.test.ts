import { expect, test } from "@jest/globals";
import { DatabaseError } from "../../sql/db.js";
import { inBatches } from "../../sql/in-batches.js";

test("what is asked for in one tick is done together, and what is asked for meanwhile is the next batch", async () => {
  const batches: (readonly number[])[] = [];
  let start: (() => void) | undefined;
  const started = new Promise<void>((resolve) => (start = resolve));
  const double = inBatches(async (numbers: readonly number[]) => {
    batches.push(numbers);
    if (batches.length === 1) await started;
    return numbers.map((number) => number * 2);
  });
  const first = [double(1), double(2)];
  await Promise.resolve();
  await Promise.resolve();
  const second = [double(3), double(4)];
  start?.();
  expect(await Promise.all([...first, ...second])).toEqual([2, 4, 6, 8]);
  expect(await double(5)).toBe(10);
  expect(batches).toEqual([[1, 2], [3, 4], [5]]);
});

test("a batch has no more than its limit, and the others follow", async () => {
  const batches: (readonly number[])[] = [];
  const ask = inBatches(
    (numbers: readonly number[]) => {
      batches.push(numbers);
      return Promise.resolve(numbers);
    },
    { most: 2 },
  );
  expect(await Promise.all([1, 2, 3].map(ask))).toEqual([1, 2, 3]);
  expect(batches).toEqual([[1, 2], [3]]);
});

test("items of one key are done one after the other, in their order, and wait for no more than that", async () => {
  const batches: (readonly string[])[] = [];
  const ask = inBatches(
    (items: readonly string[]) => {
      batches.push(items);
      return Promise.resolve(items);
    },
    { most: 3, keyOf: ([key = ""]) => key },
  );
  const items = ["a1", "a2", "b1", "a3", "c1", "b2"];
  expect(await Promise.all(items.map(ask))).toEqual(items);
  expect(batches).toEqual([["a1", "b1", "c1"], ["a2", "b2"], ["a3"]]);
});

test("one that fails fails alone", async () => {
  const double = inBatches((numbers: readonly number[]) =>
    numbers.includes(2) ? Promise.reject(new Error("two")) : Promise.resolve(numbers.map((number) => number * 2)),
  );
  expect(await Promise.allSettled([1, 2, 3].map(double))).toEqual([
    { status: "fulfilled", value: 2 },
    { status: "rejected", reason: new Error("two") },
    { status: "fulfilled", value: 6 },
  ]);
});

test("nothing is tried again while Postgres cannot be reached", async () => {
  let calls = 0;
  const lost = new DatabaseError("the connection was lost", "08006");
  const ask = inBatches((numbers: readonly number[]) => {
    calls += 1;
    return calls === 1 ? Promise.reject(lost) : Promise.resolve(numbers);
  });
  const refused = { status: "rejected", reason: lost };
  expect(await Promise.allSettled([1, 2].map(ask))).toEqual([refused, refused]);
  expect(await ask(3)).toBe(3);
  expect(calls).toBe(2);
});
