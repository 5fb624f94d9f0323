import { afterAll, beforeEach, expect, test } from "@jest/globals";
import fc from "fast-check";
import { SharedCounters } from "../../../api/http/shared-counters.js";
import { closeDatabase, sql } from "../../../sql/db.js";
import { stopTheClock } from "../../support/clock.js";
import { until } from "../../support/until.js";

const startMinute = stopTheClock();
beforeEach(startMinute);
afterAll(closeDatabase);

const shared = async (key: string) =>
  (await sql<{ hits: number }[]>`select hits from rate_counters where key = ${key}`).map(({ hits }) => hits);

test("know of each other's requests once they have exchanged them", async () => {
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

test("add up to what was asked, in whatever order they count and exchange", async () => {
  let run = 0;
  const step = fc.record({ process: fc.nat(1), act: fc.constantFrom("count", "count", "count", "exchange") });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const key = `sum ${(run += 1)}`;
      const processes = [new SharedCounters(), new SharedCounters()];
      const exchanges = [Promise.resolve(), Promise.resolve()];
      for (const { process: n, act } of steps) {
        // a process has one exchange at a time, and counts on meanwhile
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

test("exchange by themselves, to the last request", async () => {
  const counters = new SharedCounters();
  counters.increment("last");
  await until(async () => (await shared("last"))[0] === 1);
  counters.increment("last");
  counters.increment("last");
  await until(async () => (await shared("last"))[0] === 3);
});

test("begin anew with the minute", () => {
  const counters = new SharedCounters();
  expect([counters.increment("minute").totalHits, counters.increment("minute").totalHits]).toEqual([1, 2]);
  startMinute();
  expect(counters.increment("minute").totalHits).toBe(1);
});
