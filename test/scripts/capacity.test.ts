import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { total, type Cost } from "../../scripts/bench/capacity/costs.js";
import type { Measurement } from "../../scripts/bench/capacity/measure.js";
import { jobsOfRedis, perOrder, retention, sizeFor, yearOf } from "../../scripts/bench/capacity/model.js";
import { pagePath, withCapacity } from "../../scripts/bench/capacity/report.js";
import { newRun } from "../../scripts/bench/capacity/run.js";
import { tasks } from "../../workers/upkeep.js";
import { runScript } from "../support/run-script.js";
import { scratchFolder } from "../support/scratch.js";

const nothing: Cost = {
  cpuMs: { api: 0, workers: 0, postgres: 0, redis: 0 },
  statements: 0,
  walBytes: 0,
  jobs: {},
  rows: {},
};
const placed: Cost = {
  cpuMs: { api: 1, workers: 4, postgres: 6, redis: 0.5 },
  statements: 10,
  walBytes: 9_000,
  jobs: { "fan-out": 1, push: 2 },
  rows: { orders: 1, staged_jobs: 3, notifications: 2 },
};

/** Only placing an order costs anything. */
const measured: Measurement = {
  steps: {
    placed,
    reminded: nothing,
    ready: nothing,
    completed: nothing,
    reviewed: nothing,
    rolledUp: nothing,
    vacuumed: nothing,
    purged: nothing,
  },
  operations: {
    box: nothing,
    list: nothing,
    nearby: nothing,
    orders: nothing,
    sale: nothing,
    upload: nothing,
    newBox: nothing,
    newBoxWithFollowers: nothing,
  },
  idle: { cpuMs: nothing.cpuMs, statements: 0, walBytes: 0 },
  rowBytes: { orders: 1_000, staged_jobs: 500, notifications: 250 },
  connections: 36,
  waitingJobBytes: 600,
};

test("costs add up, as often as each operation occurs", () => {
  expect(
    total([
      [placed, 2],
      [{ ...nothing, jobs: { push: 1 } }, 3],
    ]),
  ).toEqual({
    cpuMs: { api: 2, workers: 8, postgres: 12, redis: 1 },
    statements: 20,
    walBytes: 18_000,
    jobs: { "fan-out": 2, push: 7 },
    rows: { orders: 2, staged_jobs: 6, notifications: 4 },
  });
});

test("the life of an order has a whole review, the marketplace's order its share", () => {
  const reviewed = { ...nothing, statements: 10 };
  const { life, all } = perOrder({ ...measured, steps: { ...measured.steps, reviewed } });
  expect([life.statements, all.statements]).toEqual([20, 13]);
});

describe("what a size needs", () => {
  test("follows from the peak: a third of the day's orders in two hours", () => {
    const size = sizeFor(measured, 1e6);
    expect(size.peak).toBeCloseTo(46.3, 1);
    // 46.3 orders a second take 185 ms of workers and 278 ms of Postgres, of cores that are busy 60 % of the time
    expect(size).toMatchObject({
      apiProcesses: 2,
      workerProcesses: 2,
      queue: "push",
      walBytesPerDay: 9e9,
    });
    expect(size.postgresCores).toBeCloseTo(0.463, 2);
    expect(size.jobs).toBeCloseTo(92.6, 1);
    // 3 rows of jobs, one of the order and two of notifications, with the space that updates leave
    expect(size.diskBytesPerDay).toBeCloseTo(1e6 * 3_000 * 1.3);
  });

  test("the limit is the part that has the least left", () => {
    const { limit: least, primary } = sizeFor(measured, 1e7);
    expect([least.part, primary.part]).toEqual(["the core of Redis", "size of the database"]);
    const busy = { ...placed, rows: {}, cpuMs: { ...placed.cpuMs, postgres: 60 } };
    const { limit } = sizeFor({ ...measured, steps: { ...measured.steps, placed: busy } }, 1e8);
    expect(limit.part).toBe("cores of Postgres");
    // 4,630 orders a second of 60 ms, on 64 cores that are busy 60 % of the time
    expect(limit.used).toBeCloseTo(7.23, 1);
  });

  test("a node of Redis carries as many jobs as fit into 60 % of a core", () => {
    expect(jobsOfRedis(measured)).toBe(3_600);
  });
});

test("of purged tables a year leaves what they keep", () => {
  const rows = Object.fromEntries(yearOf(measured, 1e6).tables.map((table) => [table.table, table.rows]));
  expect(rows).toMatchObject({ orders: 365e6, notifications: 360e6, staged_jobs: 3e6 });
});

test("purged tables are of the schema, and the tasks that purge them are of upkeep", async () => {
  const schema = await readFile("sql/schema.sql", "utf8");
  const duties = [...Object.keys(tasks), "the rollup of the day", "the numbering of events"];
  for (const [table, [, task]] of Object.entries(retention)) {
    expect(schema).toMatch(new RegExp(`^CREATE (UNLOGGED )?TABLE ${table} `, "m"));
    expect(duties).toContain(task);
  }
});

test("what follows from a run replaces what the page had", async () => {
  const page = await readFile(pagePath, "utf8");
  const run = newRun({ orders: 1, warmUpOrders: 1, reads: 1, uploads: 1, boxes: 1 }, measured, 61);
  const written = withCapacity(page, run);
  expect(written).toContain("| an order is placed, two are notified ");
  expect(written).toContain("carries 3,600 jobs a second");
  expect(withCapacity(written, run)).toBe(written);
});

test.each([
  [["--table", "other.json"], /^\S+ does not hold the figures of a run, as --json writes them\.\n$/],
  [["--table", "other.json", "--quick"], /^Usage: npm run capacity [^\n]+\n$/],
  [["--bogus"], /^Usage: npm run capacity [^\n]+\n$/],
  [["--json", "no-folder/figures.json"], /^\S+figures\.json cannot be written: [^\n]+\n$/],
])("%j is refused in one line, before anything is measured", async (args, line) => {
  const folder = await scratchFolder("capacity");
  await writeFile(join(folder, "other.json"), "{}");
  const { code, output } = await runScript(
    "bench/capacity/main",
    args.map((arg) => (arg.endsWith(".json") ? join(folder, arg) : arg)),
  );
  expect({ code, output }).toEqual({ code: 1, output: expect.stringMatching(line) });
});
