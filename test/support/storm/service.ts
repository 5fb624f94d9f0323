import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { config } from "../../../lib/process/config.js";
import { Client } from "../api.js";
import { compiled } from "../compiled.js";
import { keepsPrepared, startPgbouncer, type TestPooler } from "../pgbouncer.js";
import { isReady, program, type Program } from "../programs.js";
import { startProxy, type Proxy } from "../proxy.js";
import type { RedisCluster } from "../redis-groups.js";
import type { TestRedis } from "../redis.js";
import { freePort } from "../../../scripts/free-port.js";
import { until } from "../until.js";

/** One process of the service, with the network between it and its servers. */
export interface Node {
  name: string;
  program: Program;
  toPostgres: Proxy;
  /** Around the pooler; null without one. */
  around: Proxy | null;
  /** Null when BullMQ is in Postgres or in a cluster. */
  toRedis: Proxy | null;
}

/** The service as in production: several processes of each kind, each with connections of its own that may fail. */
export interface StormService {
  apis: readonly Node[];
  workers: readonly Node[];
  /** Between the processes and Postgres; null: they connect to it themselves. */
  pooler: { process: TestPooler; toPostgres: Proxy } | null;
  /** Connects everything to another Postgres. */
  redirect(url: string): void;
  /** The load balancer in front of the API processes. */
  entrance: Proxy;
  /** A client for the API at the entrance. */
  client: Client;
  /** Unexpected ends of processes. */
  readonly crashes: readonly string[];
  /** Starts the processes that do not run; resolves when all are ready. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** As in production, unlike in other tests: connections that are lost must be noticed. */
const deadlines = { DATABASE_TIMEOUT_MS: "10000", DATABASE_WAIT_MS: "3000", SYNC_WAIT_MS: "10000" };

async function startPooler(postgresUrl: string) {
  const toPostgres = await startProxy(postgresUrl);
  return { process: await startPgbouncer(toPostgres.url), toPostgres };
}

/**
 * Migrates the database, and prepares two API processes and two workers for these servers, behind a pooler when they are
 * `pooled`; `env` adds to their configuration.
 */
export async function prepareStormService(
  postgresUrl: string,
  redis: TestRedis | RedisCluster | null,
  env: Record<string, string>,
  pooled: boolean,
): Promise<StormService> {
  const pooler = pooled ? await startPooler(postgresUrl) : null;
  const ports = [await freePort(), await freePort()];
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  // the same public address, so that the service accepts tokens that the test signs
  const settings = { ...deadlines, ...env, HOST: "127.0.0.1", RATE_LIMIT_DISABLED: "1", PUBLIC_URL: config.PUBLIC_URL };

  async function node(name: string, file: string, readyMessage: string, own: Record<string, string>): Promise<Node> {
    const toPostgres = await startProxy(pooler?.process.url ?? postgresUrl);
    const around = pooler ? await startProxy(postgresUrl) : null;
    // the nodes of a cluster name each other, past any proxy
    const toRedis = redis === null || "nodes" in redis ? null : await startProxy(redis.url);
    const addresses = {
      DATABASE_URL: toPostgres.url,
      ...(around && { DATABASE_DIRECT_URL: around.url, DATABASE_PREPARE: keepsPrepared ? "1" : "0" }),
      ...(toRedis && { REDIS_URL: toRedis.url }),
    };
    const configured = { ...settings, ...addresses, ...own };
    return { name, program: program(file, readyMessage, configured), toPostgres, around, toRedis };
  }

  const directly = pooler && { DATABASE_URL: pooler.process.url, DATABASE_DIRECT_URL: postgresUrl };
  await promisify(execFile)(process.execPath, [compiled("scripts/migrate.ts")], {
    env: { ...process.env, ...settings, ...directly },
  });

  const api = (n: number) => node(`API ${n + 1}`, "server.ts", "the API is listening", { PORT: String(ports[n]) });
  const worker = (n: number) => node(`worker ${n + 1}`, "worker.ts", "workers started", {});
  const [apis, workers] = await Promise.all([Promise.all([0, 1].map(api)), Promise.all([0, 1].map(worker))]);
  const nodes = [...apis, ...workers];
  const entrance = await startProxy(...urls);
  const proxies = [
    entrance,
    ...nodes.flatMap(({ toPostgres, around, toRedis }) => [toPostgres, around ?? [], toRedis ?? []].flat()),
  ];
  const atPostgres = pooler
    ? [pooler.toPostgres, ...nodes.flatMap(({ around }) => around ?? [])]
    : nodes.map(({ toPostgres }) => toPostgres);

  return {
    apis,
    workers,
    pooler,
    redirect: (url) => {
      for (const proxy of atPostgres) {
        proxy.direct(url);
        proxy.cut();
      }
    },
    entrance,
    client: new Client(entrance.url.replace(/\/$/, "")),
    get crashes() {
      return nodes.flatMap(({ program: { crashes } }) => crashes);
    },
    start: async () => {
      await Promise.all(nodes.map((each) => each.program.start()));
      await Promise.all(urls.map((url) => until(() => isReady(url))));
    },
    stop: async () => {
      await Promise.all(nodes.map((each) => each.program.kill()));
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await pooler?.process.stop();
      await pooler?.toPostgres.close();
    },
  };
}
