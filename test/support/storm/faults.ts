import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import type { OwnPostgres } from "../own-postgres.js";
import type { Program } from "../programs.js";
import type { Random } from "../random.js";
import type { RedisCluster } from "../redis-groups.js";
import type { TestRedis } from "../redis.js";
import { faultsOfCluster } from "./cluster-faults.js";
import { networkFaults } from "./network-faults.js";
import type { StandIns } from "./stand-ins.js";
import type { StormService } from "./service.js";

/** What faults strike. */
export interface Scene {
  service: StormService;
  postgres: OwnPostgres;
  redis: TestRedis | RedisCluster | null;
  standIns: StandIns;
  random: Random;
}

/** A fault. `strike` resolves when its cause is over; its effects may last longer. */
export interface Fault {
  name: string;
  /** Other faults happen meanwhile. */
  lasting?: true;
  strike(): Promise<void>;
}

/** Longer than the lock of a job, after which other workers take it over. */
const PAST_THE_LOCK_MS = 13_000;

function faultsOfProcesses({ service: { apis, workers }, random }: Scene): Fault[] {
  const killed = (programs: readonly Program[]) => async () => {
    await Promise.all(programs.map((each) => each.kill()));
    await delay(random.between(0, 500));
    await Promise.all(programs.map((each) => each.start()));
  };
  const one = (nodes: typeof apis) => killed([random.pick(nodes).program])();
  return [
    { name: "kill -9 of an API process", strike: () => one(apis) },
    { name: "kill -9 of a worker", strike: () => one(workers) },
    { name: "kill -9 of all processes", strike: killed([...apis, ...workers].map(({ program }) => program)) },
    {
      name: "a worker stopped past its lock",
      lasting: true,
      strike: async () => {
        const thaw = random.pick(workers).program.freeze();
        await delay(PAST_THE_LOCK_MS);
        thaw();
      },
    },
  ];
}

function faultsOfPostgres({ service, postgres, random }: Scene): Fault[] {
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
        try {
          if (sessions.length > 0) process.kill(random.pick(sessions).pid, "SIGKILL");
        } catch {
          // it has ended meanwhile
        }
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
    {
      name: "failover to a standby, which is read-only at first",
      strike: () =>
        postgres.failOver(
          () => delay(random.between(0, 1_000)),
          async (url) => {
            service.redirect(url);
            await delay(random.between(0, 3_000));
          },
        ),
    },
  ];
}

function faultsOfPooler({ service: { pooler }, random }: Scene): Fault[] {
  if (pooler === null) return [];
  return [
    {
      name: "kill -9 of the pooler",
      strike: async () => {
        await pooler.process.kill();
        await delay(random.between(0, 1_000));
        await pooler.process.restart();
      },
    },
    {
      name: "the pooler stopped",
      strike: async () => {
        pooler.process.freeze();
        await delay(random.between(500, 13_000));
        pooler.process.thaw();
      },
    },
  ];
}

function faultsOfRedis({ redis, random }: Scene): Fault[] {
  if (redis === null) return [];
  if ("nodes" in redis)
    return [
      ...faultsOfCluster(redis),
      {
        name: "no node of Redis Cluster answers",
        strike: async () => {
          for (const node of redis.nodes) node.freeze();
          await delay(PAST_THE_LOCK_MS);
          for (const node of redis.nodes) node.thaw();
          await redis.healed();
        },
      },
    ];
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
  ];
}

/** A third party that answers badly, while other faults happen. */
const faultsOfThirdParties = ({ standIns, random }: Scene): Fault[] =>
  standIns.troubles.map(({ name, begin, end }) => ({
    name,
    lasting: true,
    strike: async () => {
      begin();
      await delay(random.between(1_000, 8_000));
      end();
    },
  }));

/** All faults of the service and of what it depends on. A cluster has its own and those of processes: one server has the others. */
export const faultsOf = (scene: Scene): Fault[] => {
  const isCluster = scene.redis !== null && "nodes" in scene.redis;
  const others = isCluster ? [] : [faultsOfPostgres, faultsOfPooler, networkFaults, faultsOfThirdParties];
  return [faultsOfProcesses, faultsOfRedis, ...others].flatMap((of) => of(scene));
};

/** Inflicts faults in random order, all of them again until the time is over; resolves to their names when the last cause is over. */
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
