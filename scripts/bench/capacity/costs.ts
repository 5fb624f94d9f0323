import { z } from "zod";
import type pg from "pg";
import type { Measured } from "../program.js";

/** The parts of a deployment whose CPU time is measured. */
export const parts = ["api", "workers", "postgres", "redis"] as const;
export type Part = (typeof parts)[number];

const CpuMs = z.object({ api: z.number(), workers: z.number(), postgres: z.number(), redis: z.number() });
export type CpuMs = z.output<typeof CpuMs>;

/** What one operation costs, with all the work that it causes. */
export const Cost = z.object({
  cpuMs: CpuMs,
  statements: z.number(),
  walBytes: z.number(),
  /** Jobs that were done, by queue. */
  jobs: z.record(z.string(), z.number()),
  /** Rows that were added, by table. */
  rows: z.record(z.string(), z.number()),
});
export type Cost = z.output<typeof Cost>;

const partsOf = (value: (part: Part) => number): CpuMs => ({
  api: value("api"),
  workers: value("workers"),
  postgres: value("postgres"),
  redis: value("redis"),
});

/** Adds up records of numbers, key by key. */
const sumOf = (records: readonly Readonly<Record<string, number>>[]): Record<string, number> => {
  const sums: Record<string, number> = {};
  for (const record of records) for (const [key, value] of Object.entries(record)) sums[key] = (sums[key] ?? 0) + value;
  return sums;
};

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const multiplied = (times: number, record: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(record).map(([key, count]) => [key, times * count]));

/** The cost of several operations together, each so many times. */
export const total = (costs: readonly (readonly [cost: Cost, times: number])[]): Cost => ({
  cpuMs: partsOf((part) => sum(costs.map(([{ cpuMs }, times]) => times * cpuMs[part]))),
  statements: sum(costs.map(([{ statements }, times]) => times * statements)),
  walBytes: sum(costs.map(([{ walBytes }, times]) => times * walBytes)),
  jobs: sumOf(costs.map(([{ jobs }, times]) => multiplied(times, jobs))),
  rows: sumOf(costs.map(([{ rows }, times]) => multiplied(times, rows))),
});

/** What has been used so far. */
interface Counters {
  at: number;
  cpuMs: CpuMs;
  statements: number;
  walBytes: number;
}

/** What a second of an idle deployment costs: timers, checks and schedules. */
export const Idle = z.object({ cpuMs: CpuMs, statements: z.number(), walBytes: z.number() });
export type Idle = z.output<typeof Idle>;

const NO_IDLE: Idle = { cpuMs: { api: 0, workers: 0, postgres: 0, redis: 0 }, statements: 0, walBytes: 0 };

/** Of fewer rows, the pages that every table and index has would count too much: then sizes are estimated. */
const LEAST_ROWS = 200;
/** Bytes of a row besides its columns: the pointer to it and its share of the page's header. */
const ROW_OVERHEAD = 6;
const INDEX_ENTRY = 40;

/** Measures what work costs in all processes; its own statements and what an idle deployment does are left out. */
export class Meter {
  idle = NO_IDLE;
  private asked = 0;

  constructor(
    private readonly client: pg.Client,
    private readonly processes: Readonly<Record<Part, Measured | null>>,
  ) {}

  async ask<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    this.asked += 1;
    return (await this.client.query<Row>(text, values)).rows;
  }

  async one(text: string, values: unknown[] = []): Promise<number> {
    const [row] = await this.ask<{ n: string }>(text, values);
    return Number(row?.n);
  }

  private async count(): Promise<Counters> {
    const [now] = await this.ask<{ statements: string; wal: string }>(
      `select (select sum(calls) from pg_stat_statements where toplevel)::text as statements,
              (pg_current_wal_insert_lsn() - '0/0')::text as wal`,
    );
    return {
      at: performance.now(),
      cpuMs: partsOf((part) => (this.processes[part]?.cpuSeconds() ?? 0) * 1_000),
      statements: Number(now?.statements) - this.asked,
      walBytes: Number(now?.wal),
    };
  }

  /** Counts the jobs that are done, by queue. */
  private async jobs(): Promise<Record<string, number>> {
    const jobs = await this.ask<{ queue: string; jobs: string }>(
      "select queue, count(*) as jobs from staged_jobs where done_at is not null group by queue",
    );
    return Object.fromEntries(jobs.map(({ queue, jobs: count }) => [queue, Number(count)]));
  }

  /** Counts the rows of each table. */
  private async rows(): Promise<Record<string, number>> {
    const tables = await this.ask<{ name: string }>(
      `select relname as name from pg_class
       where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace`,
    );
    const counts: Record<string, number> = {};
    for (const { name } of tables) counts[name] = await this.one(`select count(*) as n from ${name}`);
    return counts;
  }

  /** Rewrites all tables, and returns the bytes of a row of each, its entries in indexes included. */
  async rowBytes(): Promise<Record<string, number>> {
    await this.ask("vacuum full analyze");
    const rows = await this.rows();
    const sizes = await this.ask<{ name: string; bytes: string; indexes: string }>(
      `select relname as name,
              coalesce(
                (select sum(pg_total_relation_size(relid)) from pg_partition_tree(pg_class.oid)), pg_total_relation_size(oid)
              ) as bytes,
              (select count(*) from pg_index where indrelid = pg_class.oid) as indexes
       from pg_class where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace`,
    );
    const each: Record<string, number> = {};
    for (const { name, bytes, indexes } of sizes) {
      const count = rows[name] ?? 0;
      if (count >= LEAST_ROWS) each[name] = Number(bytes) / count;
      else if (count > 0) {
        const width = await this.one(`select avg(pg_column_size(t)) as n from ${name} t`);
        each[name] = width + ROW_OVERHEAD + INDEX_ENTRY * Number(indexes);
      }
    }
    return each;
  }

  /** Measures the cost of `work`, which does `times` operations and waits for all that they cause. */
  async measure(times: number, work: () => Promise<unknown>): Promise<Cost> {
    const [jobsBefore, rowsBefore] = [await this.jobs(), await this.rows()];
    const before = await this.count();
    await work();
    const after = await this.count();
    const [jobs, rows] = [await this.jobs(), await this.rows()];
    const seconds = (after.at - before.at) / 1_000;
    const each = (then: number, now: number, idle = 0) => Math.max(0, (now - then - seconds * idle) / times);
    const added = (then: Readonly<Record<string, number>>, now: Readonly<Record<string, number>>) =>
      Object.fromEntries(
        Object.entries(now)
          .map(([key, count]) => [key, each(then[key] ?? 0, count)] as const)
          .filter(([, count]) => count > 0),
      );
    return {
      cpuMs: partsOf((part) => each(before.cpuMs[part], after.cpuMs[part], this.idle.cpuMs[part])),
      statements: each(before.statements, after.statements, this.idle.statements),
      walBytes: each(before.walBytes, after.walBytes, this.idle.walBytes),
      jobs: added(jobsBefore, jobs),
      rows: added(rowsBefore, rows),
    };
  }
}
