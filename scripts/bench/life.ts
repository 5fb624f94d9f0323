import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { onEachBroker, type Measure } from "./chapter.js";
import { median, type Effort } from "./compare.js";
import { CLIENTS, placements, type Requests } from "./http.js";
import type { Lab } from "./lab.js";
import { Load, type LoadPlan } from "./messages.js";
import type { Measured, Program } from "./program.js";
import { print, printGoal, printRow } from "./report.js";

/** BullMQ on Postgres is meant for small deployments: its goal is what was reached. */
const MOST_MS = { Redis: 4.5, Postgres: 24 };
const CHECK_MS = 100;

interface Round {
  /** Orders that were answered, per second of load. */
  taken: number;
  /** Orders per second, from the first one until all their jobs are done. */
  done: number;
  /** CPU time per order of each measured process, in ms. */
  cpuMs: number[];
}

/** Places orders for `seconds`, waits until every job that is due is done, and divides the CPU time of all by the orders. */
async function follow(
  client: pg.Client,
  processes: readonly Measured[],
  load: Program,
  plan: LoadPlan,
): Promise<Round | null> {
  const count = async (query: string) => Number((await client.query<{ n: string }>(query)).rows[0]?.n);
  const cpu = () => processes.map((process) => process.cpuSeconds() ?? Number.NaN);
  const orders = await count("select count(*) as n from orders");
  const before = cpu();
  const start = performance.now();
  const { failed } = await load.ask(plan, Load);
  if (failed > 0) throw new Error(`${failed} orders were refused`);
  const loaded = performance.now();
  while ((await count("select count(*) as n from staged_jobs where done_at is null and run_at <= now()")) > 0)
    await delay(CHECK_MS);
  const end = performance.now();
  const after = cpu();
  if (after.some(Number.isNaN)) return null;
  const placed = (await count("select count(*) as n from orders")) - orders;
  const unsent = await count("select count(*) as n from notifications where status <> 'SENT'");
  if (unsent > 0) throw new Error(`${unsent} notifications were not sent`);
  return {
    taken: (placed * 1_000) / (loaded - start),
    done: (placed * 1_000) / (end - start),
    cpuMs: after.map((seconds, index) => ((seconds - (before[index] ?? 0)) * 1_000) / placed),
  };
}

async function measureOn(
  lab: Lab,
  requests: Requests,
  env: NodeJS.ProcessEnv,
  mostMs: number,
  effort: Effort,
): Promise<void> {
  const [api, worker, load] = await Promise.all([
    lab.start("api/server", env),
    // without push services, messages are logged
    lab.start("workers/main", { ...env, NODE_ENV: "development" }),
    lab.start("scripts/bench/programs/load"),
  ]);
  const client = new pg.Client(lab.databaseUrl);
  await client.connect();
  const parts: [name: string, process: Measured][] = [
    ["API", api],
    ["worker", worker],
    ["Postgres", lab.postgres],
    ...(lab.redis && env["REDIS_URL"] !== undefined ? [["Redis", lab.redis] satisfies [string, Measured]] : []),
  ];
  const rounds: Round[] = [];
  try {
    for (let round = 0; round <= effort.rounds; round += 1) {
      const seconds = round === 0 ? effort.warmUpSeconds : effort.seconds;
      const plan: LoadPlan = { url: api.url, connections: CLIENTS, seconds, ...requests };
      const followed = await follow(
        client,
        parts.map(([, process]) => process),
        load,
        plan,
      );
      // a plan that was made while the tables were almost empty would be kept
      if (round === 0) await client.query("analyze");
      if (followed && round > 0) rounds.push(followed);
    }
  } finally {
    await client.end();
  }
  await Promise.all([api, worker, load].map((program) => program.stop()));
  if (rounds.length === 0) {
    print("  skipped: this system has no /proc");
    return;
  }
  for (const [index, [name]] of parts.entries())
    printRow(`CPU time of ${name}, an order`, [
      { value: median(rounds.map(({ cpuMs }) => cpuMs[index] ?? Number.NaN)), unit: "ms" },
    ]);
  const all = median(rounds.map(({ cpuMs }) => cpuMs.reduce((sum, part) => sum + part, 0)));
  printGoal({ name: "CPU time of all, an order", value: all, unit: "ms", sign: "≤", goal: mostMs });
  for (const [name, value] of [
    ["orders taken", (round: Round) => round.taken],
    ["orders, with the work they cause", (round: Round) => round.done],
  ] as const)
    printRow(name, [{ value: median(rounds.map(value)), unit: "/s" }]);
}

/** Follows orders until their notifications are sent: one API process, one worker process, 32 clients. */
export const followOrders: Measure = async (lab, marketplace, effort) => {
  // this module reads the configuration on import, so the lab must have set it
  const { prepareBroker } = await import("../../queues/broker.js");
  await prepareBroker();
  const requests = await placements(marketplace);
  await onEachBroker(lab, (env, broker) => measureOn(lab, requests, env, MOST_MS[broker], effort));
};
