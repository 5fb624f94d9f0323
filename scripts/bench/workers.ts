import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { Measure } from "./chapter.js";
import { median } from "./compare.js";
import type { Lab } from "./lab.js";
import type { Marketplace } from "./marketplace.js";
import type { Measured } from "./program.js";
import { print, printGoal, printRow } from "./report.js";

const COUNTS = [1, 4, 16];
/** A round takes two minutes. */
const MOST_ROUNDS = 3;
const MOST_RATIO = 1.2;
const CHECK_MS = 100;
const IDLE_SECONDS = 5;
/** Jobs of a backlog for each process before it is measured: one that has compiled less of its code would seem to cost more. */
const WARM_UP_JOBS = 500;
/** Jobs for each process, so many a second for all, on a system that keeps up: none waits long enough to share statements. */
const SINGLE_JOBS = 150;
const SINGLE_JOBS_PER_SECOND = 80;

/** Stages a push to each of these users, as one statement of the service does. */
const STAGE = `
  with notified as (
    insert into notifications (user_id, kind, partner_id)
    select user_id, 'ORDER_READY', $2::uuid from unnest($1::uuid[]) as user_id
    returning id
  )
  select stage_jobs('push', jsonb_agg(jsonb_build_object('notificationId', id)), array_agg(null::text)) from notified`;
const WAKE = "select pg_notify('led_signals', 'jobs')";

interface Round {
  /** CPU time of each part per job, in ms. */
  backlog: number[];
  single: number[];
  /** CPU time of each part in an idle second, in ms. */
  idle: number[];
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

async function measureWith(
  lab: Lab,
  { userIds, boxes }: Marketplace,
  env: NodeJS.ProcessEnv,
  client: pg.Client,
  count: number,
): Promise<Round | null> {
  let turn = 0;
  const workers = await Promise.all(
    // without push services, messages are logged
    Array.from({ length: count }, () =>
      lab.start("workers/main", { ...env, NODE_ENV: "development", LOG_LEVEL: "info" }),
    ),
  );
  const parts: (readonly Measured[])[] = [workers, [lab.postgres], lab.redis ? [lab.redis] : []];
  const cpuMs = () => parts.map((processes) => sum(processes.map((each) => (each.cpuSeconds() ?? Number.NaN) * 1_000)));
  const settle = async () => {
    const open = "select count(*) as n from staged_jobs where done_at is null and run_at <= now()";
    while (Number((await client.query<{ n: string }>(open)).rows[0]?.n) > 0) await delay(CHECK_MS);
  };
  const measure = async (work: () => Promise<unknown>) => {
    const [before, start] = [cpuMs(), performance.now()];
    await work();
    const after = cpuMs();
    const seconds = (performance.now() - start) / 1_000;
    return { seconds, used: after.map((ms, part) => ms - (before[part] ?? 0)) };
  };
  const stage = async (jobs: number) => {
    const users = Array.from({ length: jobs }, () => userIds[(turn += 1) % userIds.length]);
    await client.query(STAGE, [users, boxes[0]?.partnerId]);
    await client.query(WAKE);
  };
  const backlogOf = async (jobs: number) => {
    await stage(jobs);
    await settle();
  };
  const jobs = count * WARM_UP_JOBS;
  await backlogOf(jobs);
  await client.query("vacuum analyze");
  const idle = await measure(() => delay(IDLE_SECONDS * 1_000));
  const idleMs = idle.used.map((ms) => ms / idle.seconds);
  const perJob = ({ used, seconds }: typeof idle, done: number) =>
    used.map((ms, part) => (ms - seconds * (idleMs[part] ?? 0)) / done);
  const backlog = perJob(await measure(() => backlogOf(jobs)), jobs);
  const singles = count * SINGLE_JOBS;
  const trickle = async () => {
    for (let n = 0; n < singles; n += 1) await Promise.all([stage(1), delay(1_000 / SINGLE_JOBS_PER_SECOND)]);
    await settle();
  };
  await trickle();
  const single = perJob(await measure(trickle), singles);
  await Promise.all(workers.map((worker) => worker.stop()));
  const round = { backlog, single, idle: idleMs.map((ms) => ms / count) };
  return idleMs.some(Number.isNaN) ? null : round;
}

/** Prints the medians of the rounds with so many processes. */
function printRounds(count: number, rounds: readonly Round[]): void {
  for (const [name, of] of [
    ["a job of a backlog", ({ backlog }: Round) => backlog],
    ["a single job", ({ single }: Round) => single],
    ["an idle second of each", ({ idle }: Round) => idle],
  ] as const)
    printRow(
      `${count} processes, ${name}`,
      ["workers", "Postgres", "Redis"].map((part, index) => ({
        name: part,
        value: median(rounds.map((round) => of(round)[index] ?? Number.NaN)),
        unit: "ms",
      })),
    );
}

/**
 * What a job costs with 1, 4 and 16 worker processes, when many wait and when they come one by one. With Redis only: BullMQ on
 * Postgres wakes every worker for every job.
 */
export const addWorkers: Measure = async (lab, marketplace, effort) => {
  if (lab.redisUrl === null) {
    print("  skipped, there is no redis-server");
    return;
  }
  const client = new pg.Client(lab.databaseUrl);
  await client.connect();
  const rounds = new Map<number, Round[]>(COUNTS.map((count) => [count, []]));
  try {
    for (let round = 0; round < Math.min(effort.rounds, MOST_ROUNDS); round += 1)
      for (const count of round % 2 === 0 ? COUNTS : COUNTS.toReversed()) {
        const measured = await measureWith(lab, marketplace, { REDIS_URL: lab.redisUrl }, client, count);
        if (!measured) {
          print("  skipped: this system has no /proc");
          return;
        }
        rounds.get(count)?.push(measured);
      }
  } finally {
    await client.end();
  }
  for (const [count, measured] of rounds) printRounds(count, measured);
  const [one = [], ...others] = rounds.values();
  const most = others.at(-1) ?? [];
  for (const [name, of] of [
    ["a job of a backlog, of that with one process", (round?: Round) => sum(round?.backlog ?? [Number.NaN])],
    ["a single job, of that with one process", (round?: Round) => sum(round?.single ?? [Number.NaN])],
  ] as const) {
    const ratios = most.map((round, index) => of(round) / of(one[index]));
    printGoal({ name, value: median(ratios), unit: "", sign: "≤", goal: MOST_RATIO });
    printRow("    by round", [
      { name: "least", value: Math.min(...ratios), unit: "" },
      { name: "most", value: Math.max(...ratios), unit: "" },
    ]);
  }
};
