import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { AdCounters } from "../../../../api/routes/ads/counters.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { insertAdBatch, type AdBatch } from "../../../../sql/queries/ad-batches.js";
import { closeSignals } from "../../../../sql/signals.js";
import { neverFaked } from "../../../support/clock.js";
import { until } from "../../../support/until.js";
import { sized } from "../../../support/size.js";

const [first, second, third] = [1, 2, 3].map((n) => `01978d2e-5a6b-7c3d-8e9f-00000000000${n}`) as [
  string,
  string,
  string,
];

const nothing = { impressions: 0, clicks: 0, invalidImpressions: 0, invalidClicks: 0 };

/** The stored batches and jobs, and the sums of each banner's impressions and clicks. */
async function kept() {
  const [rows] = await sql<{ batches: number; jobs: number }[]>`
    select (select count(*) from ad_batches) as batches,
           (select count(*) from staged_jobs j join ad_batches b on j.payload ->> 'batchId' = b.id::text where j.queue = 'ad-events')
             as jobs`;
  const sums = await sql<({ id: string } & typeof nothing)[]>`
    select c.id, sum(c.impressions) as impressions, sum(c.clicks) as clicks,
           sum(c.invalid_impressions) as invalid_impressions, sum(c.invalid_clicks) as invalid_clicks
    from ad_batches b, unnest(b.banner_ids, b.impressions, b.clicks, b.invalid_impressions, b.invalid_clicks)
      as c (id, impressions, clicks, invalid_impressions, invalid_clicks)
    group by c.id
    order by c.id`;
  return { ...rows, counts: Object.fromEntries(sums.map(({ id, ...counts }) => [id, counts])) };
}

beforeEach(() => sql`truncate ad_batches, staged_jobs`);
afterAll(async () => {
  await closeSignals();
  await closeDatabase();
});

describe("with Postgres", () => {
  test("a thousand answers and clicks become one batch, with the job that adds it up", async () => {
    const counters = new AdCounters();
    const [one, other] = [[first, second], [second]];
    for (let n = 0; n < 500; n += 1) {
      counters.countImpressions(one, true);
      counters.countImpressions(other, true);
      counters.countImpressions([], true);
    }
    counters.countClick(second, true);
    counters.countClick(third, true);
    counters.countClick(third, false);
    await counters.flush();
    expect(await kept()).toEqual({
      batches: 1,
      jobs: 1,
      counts: {
        [first]: { ...nothing, impressions: 500 },
        [second]: { ...nothing, impressions: 1_000, clicks: 1 },
        [third]: { ...nothing, clicks: 1, invalidClicks: 1 },
      },
    });
    await counters.flush();
    expect(await kept()).toMatchObject({ batches: 1, jobs: 1 });
  });

  test("counters flush automatically, up to the last count", async () => {
    const counters = new AdCounters();
    counters.countImpressions([first], true);
    await until(async () => (await kept()).batches === 1);
    counters.countClick(first, true);
    counters.countImpressions([first], true);
    await until(async () => (await kept()).batches === 2);
    expect((await kept()).counts).toEqual({ [first]: { ...nothing, impressions: 2, clicks: 1 } });
  });

  test("with any sequence of counts and flushes that succeed or fail, everything is stored exactly once", async () => {
    const act = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ act: fc.constant("answer" as const), banners: fc.nat(2), valid: fc.boolean() }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ act: fc.constant("click" as const), banners: fc.nat(2), valid: fc.boolean() }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ act: fc.constantFrom("flush" as const, "refused" as const, "answer lost" as const) }),
      },
    );
    const step = fc.record({ process: fc.nat(2), what: act });
    const lists = [[first], [first, second], [third, second, first]];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        await sql`truncate ad_batches, staged_jobs`;
        const fates = ["flush", "flush", "flush"];
        const processes = fates.map(
          (_, n) =>
            new AdCounters(async (batch) => {
              if (fates[n] === "refused") throw new Error("Postgres is away");
              await insertAdBatch(sql, batch);
              if (fates[n] === "answer lost") throw new Error("the connection was lost");
            }),
        );
        const expected = new Map<string, typeof nothing>();
        const count = (id: string, name: keyof typeof nothing) => {
          const known = expected.get(id) ?? nothing;
          expected.set(id, { ...known, [name]: known[name] + 1 });
        };
        const flushes = [Promise.resolve(), Promise.resolve(), Promise.resolve()];
        for (const { process: n, what } of steps) {
          const list = "banners" in what ? lists[what.banners]! : [];
          if (what.act === "answer") {
            processes[n]!.countImpressions(list, what.valid);
            for (const id of list) count(id, what.valid ? "impressions" : "invalidImpressions");
          } else if (what.act === "click") {
            processes[n]!.countClick(list[0]!, what.valid);
            count(list[0]!, what.valid ? "clicks" : "invalidClicks");
          } else {
            // a process runs one flush at a time, and keeps counting meanwhile
            await flushes[n];
            fates[n] = what.act;
            flushes[n] = processes[n]!.flush().catch(() => undefined);
          }
        }
        await Promise.all(flushes);
        fates.fill("flush");
        await Promise.all(processes.map((counters) => counters.flush()));
        const { batches, jobs, counts } = await kept();
        expect(counts).toEqual(Object.fromEntries(expected));
        expect(jobs).toBe(batches);
      }),
      { numRuns: sized(60, 15) },
    );
  });
});

describe("timing", () => {
  let handedIn: AdBatch[] = [];
  let away = false;
  const handIn = (batch: AdBatch) => {
    handedIn.push(batch);
    return away ? Promise.reject(new Error("Postgres is away")) : Promise.resolve();
  };

  beforeEach(() => {
    handedIn = [];
    away = false;
    jest.useFakeTimers({ now: Date.parse("2026-06-01T12:00Z"), doNotFake: [...neverFaked] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const counted = () =>
    handedIn.map(({ day, counts }) => [day, counts.reduce((sum, { impressions }) => sum + impressions, 0)]);

  test("ten thousand impressions are flushed at once", async () => {
    const counters = new AdCounters(handIn);
    const answer = Array.from({ length: 100 }, (_, n) => `01978d2e-5a6b-7c3d-8e9f-${String(n).padStart(12, "0")}`);
    for (let n = 0; n < 99; n += 1) counters.countImpressions(answer, true);
    await jest.advanceTimersByTimeAsync(999);
    expect(counted()).toEqual([]);
    counters.countImpressions(answer, true);
    await jest.advanceTimersByTimeAsync(0);
    expect(counted()).toEqual([["2026-06-01", 10_000]]);
  });

  test("many counts between two flushes are all included", async () => {
    const counters = new AdCounters(handIn);
    for (let n = 0; n < 5_000; n += 1) counters.countImpressions([first], true);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(counted()).toEqual([["2026-06-01", 5_000]]);
  });

  test("while Postgres is away counts collect in one batch per day, apart from the batch that is being retried", async () => {
    const counters = new AdCounters(handIn);
    away = true;
    // a second before midnight in Moscow
    jest.setSystemTime(Date.parse("2026-06-01T20:59:59Z"));
    counters.countImpressions([first], true);
    await counters.flush().catch(() => undefined);
    for (let minute = 0; minute < 30; minute += 1) {
      counters.countImpressions([first], true);
      await jest.advanceTimersByTimeAsync(60_000);
    }
    expect(new Set(handedIn.map(({ id }) => id)).size).toBe(1);
    handedIn = [];
    away = false;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(counted()).toEqual([
      ["2026-06-01", 1],
      ["2026-06-02", 30],
    ]);
    handedIn = [];
    await jest.advanceTimersByTimeAsync(60_000);
    expect(handedIn).toEqual([]);
  });
});
