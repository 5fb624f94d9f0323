import { config } from "../../../lib/process/config.js";
import { Client } from "../api.js";
import { isReady, program, type Program } from "../programs.js";
import { startProxy, type Proxy } from "../proxy.js";
import { freePort } from "../../../scripts/free-port.js";
import { until } from "../until.js";

/** One process of the service, with the network between it and its servers. */
export interface Node {
  name: string;
  program: Program;
  toPostgres: Proxy;
  /** Null when BullMQ is in Postgres. */
  toRedis: Proxy | null;
}

/** The service as in production: several processes of each kind, each with connections of its own that may fail. */
export interface StormService {
  apis: readonly Node[];
  workers: readonly Node[];
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

/** Prepares two API processes and two workers for these servers; `env` adds to their configuration. */
export async function prepareStormService(
  postgresUrl: string,
  redisUrl: string | null,
  env: Record<string, string>,
): Promise<StormService> {
  const ports = [await freePort(), await freePort()];
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  // the same public address, so that the service accepts tokens that the test signs
  const settings = { ...deadlines, ...env, HOST: "127.0.0.1", RATE_LIMIT_DISABLED: "1", PUBLIC_URL: config.PUBLIC_URL };

  async function node(name: string, file: string, readyMessage: string, own: Record<string, string>): Promise<Node> {
    const toPostgres = await startProxy(postgresUrl);
    const toRedis = redisUrl === null ? null : await startProxy(redisUrl);
    const addresses = { DATABASE_URL: toPostgres.url, ...(toRedis && { REDIS_URL: toRedis.url }) };
    return { name, program: program(file, readyMessage, { ...settings, ...addresses, ...own }), toPostgres, toRedis };
  }

  const api = (n: number) => node(`API ${n + 1}`, "server.ts", "the API is listening", { PORT: String(ports[n]) });
  const worker = (n: number) => node(`worker ${n + 1}`, "worker.ts", "workers started", {});
  const [apis, workers] = await Promise.all([Promise.all([0, 1].map(api)), Promise.all([0, 1].map(worker))]);
  const nodes = [...apis, ...workers];
  const entrance = await startProxy(...urls);
  const proxies = [
    entrance,
    ...nodes.flatMap(({ toPostgres, toRedis }) => [toPostgres, ...(toRedis ? [toRedis] : [])]),
  ];

  return {
    apis,
    workers,
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
    },
  };
}
