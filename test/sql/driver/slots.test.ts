import { expect, test } from "@jest/globals";
import { openSlots } from "../../../sql/driver/slots.js";

test("slots are given in the order of arrival, and never more than there are", async () => {
  const slots = openSlots("searches", 2, 600_000);
  const given: number[] = [];
  const callers = [1, 2, 3, 4].map((n) => slots.acquire().then(() => given.push(n)));
  await Promise.all(callers.slice(0, 2));
  expect([given, slots.taken(), slots.waiting()]).toEqual([[1, 2], 2, 2]);
  slots.release();
  slots.release();
  await Promise.all(callers);
  expect([given, slots.taken(), slots.waiting()]).toEqual([[1, 2, 3, 4], 2, 0]);
  slots.release();
  slots.release();
  expect(slots.taken()).toBe(0);
});

test("a caller that needs several waits until they are free, and those that came later wait behind it", async () => {
  const slots = openSlots("searches", 3, 600_000);
  const given: number[] = [];
  const callers = [2, 2, 1].map((size) => slots.acquire(size).then(() => given.push(size)));
  await callers[0];
  expect([given, slots.taken(), slots.waiting()]).toEqual([[2], 2, 2]);
  slots.release(2);
  await Promise.all(callers);
  expect([given, slots.taken(), slots.waiting()]).toEqual([[2, 2, 1], 3, 0]);
});

test("a caller that waits for too long is refused, and leaves the queue", async () => {
  const slots = openSlots("searches", 1, 20);
  await slots.acquire();
  await expect(slots.acquire()).rejects.toMatchObject({ code: "53300", message: /too many searches are waiting/ });
  slots.release();
  await slots.acquire();
  expect([slots.taken(), slots.waiting()]).toEqual([1, 0]);
});
