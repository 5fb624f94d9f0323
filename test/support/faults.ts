import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import type { OwnPostgres } from "./own-postgres.js";
import type { Program, Service } from "./programs.js";
import type { Random } from "./random.js";
import type { TestRedis } from "./redis.js";

/** Longer than the lock of a job, after which other workers take it over. */
const PAST_THE_LOCK_MS = 13_000;

/** A fault. `strike` resolves when its cause is over; its effects may last longer. */
export interface Fault {
  name: string;
  /** Other faults happen meanwhile. */
  lasting?: true;
  strike(): Promise<void>;
}

function faultsOfProcesses({ api, workers }: Service, random: Random): Fault[] {
  const killed = (program: Program) => async () => {
    await program.kill();
    await delay(random.between(0, 500));
    await program.start();
  };
  const [first, second] = workers;
  return [
    { name: "kill -9 of the API", strike: killed(api) },
    { name: "kill -9 of a worker", strike: killed(first) },
    {
      name: "a worker stopped past its lock",
      lasting: true,
      strike: async () => {
        const thaw = second.freeze();
        await delay(PAST_THE_LOCK_MS);
        thaw();
      },
    },
  ];
}

function faultsOfPostgres(postgres: OwnPostgres, random: Random): Fault[] {
  return [
    {
      name: "pg_terminate_backend on all sessions",
      strike: async () => {
        await postgres.ask(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
        );
      },
    },
    {
      name: "kill -9 of a Postgres backend",
      strike: async () => {
        const sessions = await postgres.ask<{ pid: number }>(
          "select pid from pg_stat_activity where application_name like 'surplus-food %' order by pid",
        );
        if (sessions.length > 0) process.kill(random.pick(sessions).pid, "SIGKILL");
      },
    },
    {
      name: "kill -9 of Postgres",
      strike: async () => {
        await postgres.kill();
        await delay(random.between(0, 500));
        await postgres.restart();
      },
    },
  ];
}

function faultsOfRedis(redis: TestRedis, random: Random): Fault[] {
  const commanded = async (...[command, ...args]: [string, ...string[]]) => {
    const client = new Redis(redis.url);
    await client.call(command, ...args);
    client.disconnect();
  };
  return [
    {
      name: "kill -9 of Redis, which keeps nothing",
      strike: async () => {
        await redis.kill();
        await delay(random.between(0, 1_000));
        await redis.restart();
      },
    },
    { name: "FLUSHALL", strike: () => commanded("flushall") },
    {
      name: "Redis stopped",
      strike: async () => {
        redis.freeze();
        await delay(random.between(500, 6_000));
        redis.thaw();
      },
    },
    {
      name: "Redis full",
      strike: async () => {
        await commanded("config", "set", "maxmemory", "1");
        await delay(random.between(500, 2_000));
        await commanded("config", "set", "maxmemory", "0");
      },
    },
    { name: "the connections to Redis cut", strike: () => commanded("client", "kill", "type", "normal") },
  ];
}

/** All faults of the service, Postgres and Redis. */
export const faultsOf = (service: Service, postgres: OwnPostgres, redis: TestRedis | null, random: Random): Fault[] => [
  ...faultsOfProcesses(service, random),
  ...faultsOfPostgres(postgres, random),
  ...(redis ? faultsOfRedis(redis, random) : []),
];

/** Repeats all faults in random order until the time is over; resolves to their names when the last cause is over. */
export async function inflict(faults: readonly Fault[], durationMs: number, random: Random): Promise<string[]> {
  const inflicted: string[] = [];
  const end = performance.now() + durationMs;
  do {
    const lasting: Promise<void>[] = [];
    for (const fault of random.shuffle(faults)) {
      inflicted.push(fault.name);
      const struck = fault.strike();
      if (fault.lasting) lasting.push(struck);
      else await struck;
      await delay(random.between(200, 1_500));
    }
    await Promise.all(lasting);
  } while (performance.now() < end);
  return inflicted;
}
