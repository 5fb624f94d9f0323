import { afterAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { SharedCounters, storedKey } from "../../../api/http/shared-counters.js";
import { closeDatabase, sql } from "../../../sql/db.js";
import { stopTheClock } from "../../support/clock.js";
import { until } from "../../support/until.js";

const startMinute = stopTheClock();
beforeEach(startMinute);
afterAll(closeDatabase);

const shared = async (key: string) =>
  (await sql<{ hits: number }[]>`select hits from rate_counters where key = ${storedKey(key)}`).map(({ hits }) => hits);

test("include each other's requests after an exchange", async () => {
  const one = new SharedCounters();
  const other = new SharedCounters();
  const hits = (counters: typeof one, times: number) =>
    Array.from({ length: times }, () => counters.increment("two").totalHits).at(-1);
  expect([hits(one, 3), hits(other, 4)]).toEqual([3, 4]);
  await one.exchange();
  await other.exchange();
  expect([hits(one, 1), hits(other, 1)]).toEqual([4, 8]);
  await one.exchange();
  expect([hits(one, 1), hits(other, 1)]).toEqual([9, 9]);
});

test("add up to the number of requests, in any order of counting and exchanging", async () => {
  let run = 0;
  const step = fc.record({ process: fc.nat(1), act: fc.constantFrom("count", "count", "count", "exchange") });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const key = `sum ${(run += 1)}`;
      const processes = [new SharedCounters(), new SharedCounters()];
      const exchanges = [Promise.resolve(), Promise.resolve()];
      for (const { process: n, act } of steps) {
        // a process runs one exchange at a time, and keeps counting meanwhile
        if (act === "exchange") await exchanges[n];
        if (act === "exchange") exchanges[n] = processes[n]!.exchange();
        else processes[n]!.increment(key);
      }
      await Promise.all(exchanges);
      for (const counters of processes) await counters.exchange();
      const counted = steps.filter(({ act }) => act === "count").length;
      expect(await shared(key)).toEqual(counted > 0 ? [counted] : []);
    }),
    { numRuns: 30 },
  );
});

test("exchange automatically, up to the last request", async () => {
  const counters = new SharedCounters();
  counters.increment("last");
  await until(async () => (await shared("last"))[0] === 1);
  counters.increment("last");
  counters.increment("last");
  await until(async () => (await shared("last"))[0] === 3);
});

test("start again from zero every minute", () => {
  const counters = new SharedCounters();
  expect([counters.increment("minute").totalHits, counters.increment("minute").totalHits]).toEqual([1, 2]);
  startMinute();
  expect(counters.increment("minute").totalHits).toBe(1);
});

test("of an hour start again from zero every hour", () => {
  const counters = new SharedCounters({ windowMs: 3_600_000 });
  const { resetAt } = counters.increment("hour");
  expect(resetAt % 3_600_000).toBe(0);
  jest.setSystemTime(resetAt - 1);
  expect(counters.increment("hour")).toEqual({ totalHits: 2, resetAt });
  jest.setSystemTime(resetAt);
  expect(counters.increment("hour").totalHits).toBe(1);
});

test("of a minute and of an hour that end together are counted apart", async () => {
  jest.setSystemTime(Math.ceil(Date.now() / 3_600_000) * 3_600_000 - 1);
  const [minute, hour] = [new SharedCounters(), new SharedCounters({ windowMs: 3_600_000 })];
  for (const counters of [minute, hour]) {
    counters.increment("both");
    await counters.exchange();
  }
  expect([minute, hour].map((counters) => counters.increment("both").totalHits)).toEqual([2, 2]);
});

test("take back a hit of their window, also after it was shared, and none of an earlier window", async () => {
  const counters = new SharedCounters();
  const { resetAt } = counters.increment("undone");
  counters.increment("undone");
  await counters.exchange();
  counters.decrement("undone", resetAt);
  await counters.exchange();
  expect([counters.increment("undone").totalHits, await shared("undone")]).toEqual([2, [1]]);
  startMinute();
  counters.increment("undone");
  counters.decrement("undone", resetAt);
  expect(counters.increment("undone").totalHits).toBe(2);
});

test("stay in their process below a given count, and are then shared as a whole", async () => {
  const one = new SharedCounters({ sharedFrom: 3 });
  const other = new SharedCounters({ sharedFrom: 3 });
  for (const counters of [one, other, one, other]) counters.increment("few");
  for (const counters of [one, other]) await counters.exchange();
  expect(await shared("few")).toEqual([]);
  for (const counters of [one, other]) {
    counters.increment("few");
    await counters.exchange();
  }
  expect([await shared("few"), other.increment("few").totalHits]).toEqual([[6], 7]);
});

describe("when there are too many keys", () => {
  const fill = (counters: SharedCounters) => {
    for (let n = 0; n < 100_000; n += 1) counters.increment(`key ${n}`);
  };

  test("further ones share a counter", () => {
    const counters = new SharedCounters({ sharedFrom: 1_000 });
    fill(counters);
    expect(["one", "other", "key 0"].map((key) => counters.increment(key).totalHits)).toEqual([1, 2, 2]);
  });

  test("or each takes the place of the oldest", () => {
    const counters = new SharedCounters({ whenFull: "FORGET", sharedFrom: 1_000 });
    fill(counters);
    const hits = ["one", "one", "key 1", "key 0"].map((key) => counters.increment(key).totalHits);
    expect(hits).toEqual([1, 2, 2, 1]);
  });
});
