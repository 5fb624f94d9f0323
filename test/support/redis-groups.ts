import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import {
  NODE_TIMEOUT_MS,
  startClusterNode,
  startRedis,
  startSentinel,
  type SharedCertificate,
  type TestRedis,
} from "./redis.js";
import { scratchFolder } from "./scratch.js";
import { until } from "./until.js";

const MASTERS = 3;
const SLOTS = 16_384;
const ANSWER_MS = 5_000;
/** Between two keys of a slot that moves, so that clients meet it with some keys here and some there. */
const SLOW_MOVE_MS = 3;
const FIX_MS = 30_000;
const CUTS = 20;
const CUT_PAUSE_MS = 10;

/** A master, and its id in the cluster. */
interface Owner {
  master: TestRedis;
  id: string;
}

const hostOf = ({ url }: TestRedis) => new URL(url).host;
const portOf = ({ url }: TestRedis) => new URL(url).port;
/** In the certificates of all servers. */
const NAME = "localhost";

/** Returns a function that runs commands on one server. */
async function commander(tls: SharedCertificate | undefined) {
  const options = tls && {
    ca: await readFile(tls.authority),
    cert: tls.certificate,
    key: tls.key,
    servername: NAME,
  };
  return async <T>({ url }: TestRedis, work: (client: Redis) => Promise<T>): Promise<T> => {
    const client = new Redis(url.replace(/^rediss:/, "redis:"), {
      ...(options && { tls: options }),
      commandTimeout: ANSWER_MS,
      retryStrategy: null,
    });
    client.on("error", () => undefined);
    try {
      return await work(client);
    } finally {
      client.disconnect();
    }
  };
}

/** Returns the scheme, and the parameters, with which clients reach servers with this certificate; they have the same. */
async function forClients(tls: SharedCertificate | undefined): Promise<[scheme: string, parameters: string]> {
  if (!tls) return ["redis", ""];
  const folder = await scratchFolder("redis-client");
  const files = { sslcert: join(folder, "client.crt"), sslkey: join(folder, "client.key") };
  await Promise.all([writeFile(files.sslcert, tls.certificate), writeFile(files.sslkey, tls.key)]);
  return ["rediss", `?${new URLSearchParams({ sslrootcert: tls.authority, ...files }).toString()}`];
}

/** A cluster of three masters, each with a replica. */
export interface RedisCluster {
  /** For REDIS_URL; it names two of the nodes. */
  url: string;
  nodes: readonly TestRedis[];
  /** The master that has this key; resolves when all slots are served, and the master is another than `before`. */
  masterOf(key: string, before?: TestRedis): Promise<TestRedis>;
  /** Sets a setting of all nodes. */
  configure(name: string, value: string): Promise<void>;
  /** Resolves when every node is up, and every master has a replica that may take over. */
  healed(): Promise<void>;
  /**
   * Moves the slot of this key to another master, key by key, while clients go on. Before the end, when the first master has no
   * key left and sends clients to the other, their connections to that are cut some times.
   */
  moveSlotOf(key: string): Promise<void>;
  /**
   * Moves half the keys of this slot to another master, then kills the first one. Its replica takes over and knows nothing of the
   * move. So nobody reaches the half that has moved, and the other master, to whom this slot now has no owner, refuses all its
   * slots, until an operator mends the slot with redis-cli.
   */
  breakMoveOf(key: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a cluster without persistence; over TLS with a certificate, and then with nodes that give clients their names. */
export async function startRedisCluster(tls?: SharedCertificate): Promise<RedisCluster> {
  const name = tls && NAME;
  const nodes = await Promise.all(Array.from({ length: 2 * MASTERS }, () => startClusterNode(tls, name)));
  const [masters, replicas] = [nodes.slice(0, MASTERS), nodes.slice(MASTERS)];
  const ask = await commander(tls);
  const [scheme, parameters] = await forClients(tls);
  const idOf = (node: TestRedis) => ask(node, async (client) => client.cluster("MYID"));
  const isWhole = (node: TestRedis) =>
    ask(node, async (client) => {
      const info = await client.cluster("INFO");
      return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${nodes.length}`);
    });
  const isBacked = (node: TestRedis) =>
    ask(node, async (client) =>
      /master_link_status:up|role:master\s+connected_slaves:[1-9]/.test(await client.info("replication")),
    );
  /** Nodes learn the names of others later than their addresses. */
  const knowsNames = (node: TestRedis) =>
    ask(node, async (client) => !JSON.stringify(await client.cluster("SLOTS")).includes('"?"'));
  const healed = async () => {
    const isWell = async (node: TestRedis) =>
      (await isWhole(node)) && (await isBacked(node)) && (await knowsNames(node));
    await until(async () => (await Promise.all(nodes.map((node) => isWell(node).catch(() => false)))).every(Boolean));
  };

  await Promise.all(
    masters.map((node, place) =>
      ask(node, async (client) => {
        const bound = (n: number) => Math.floor((n * SLOTS) / MASTERS);
        await client.cluster("ADDSLOTSRANGE", bound(place), bound(place + 1) - 1);
        await client.cluster("SET-CONFIG-EPOCH", place + 1);
      }),
    ),
  );
  const [first, second] = nodes;
  if (!first || !second) throw new Error("there are no nodes");
  const busPorts = await Promise.all(
    nodes.map((node) => ask(node, async (client) => String((await client.config("GET", "cluster-port")).at(1)))),
  );
  for (const [place, node] of nodes.entries())
    await ask(first, (client) => client.call("cluster", "meet", "127.0.0.1", portOf(node), busPorts[place] ?? ""));
  await until(async () => (await Promise.all(nodes.map(isWhole))).every(Boolean));
  const ids = await Promise.all(masters.map(idOf));
  await Promise.all(
    replicas.map((node, place) => ask(node, (client) => client.cluster("REPLICATE", ids[place] ?? ""))),
  );
  await healed();

  const nodeAt = (port: unknown) => nodes.find((node) => portOf(node) === String(port));
  const slotsOf = async (node: TestRedis) =>
    ask(node, async (client) => {
      const table: unknown = await client.cluster("SLOTS");
      if (!Array.isArray(table)) throw new Error("no table of slots");
      return table.map((range: [number, number, [string, number, string], ...unknown[]]) => ({
        from: range[0],
        to: range[1],
        port: range[2][1],
        id: range[2][2],
      }));
    });
  /** Asks any node, also of a cluster that is not whole. */
  const slotOf = async (key: string) =>
    Promise.any(nodes.map((node) => ask(node, (client) => client.cluster("KEYSLOT", key))));
  /** Asks the nodes in turn, as one may be dead or stopped. */
  const findMaster = async (slot: number): Promise<Owner | undefined> => {
    for (const node of nodes) {
      const limit = delay(NODE_TIMEOUT_MS, undefined, { ref: false });
      const found = await Promise.race([
        (async () => ((await isWhole(node)) ? slotsOf(node) : undefined))().catch(() => undefined),
        limit,
      ]);
      const range = found?.find(({ from, to }) => from <= slot && slot <= to);
      const master = nodeAt(range?.port);
      if (master && range) return { master, id: range.id };
    }
    return undefined;
  };

  const beginMove = async (key: string) => {
    const slot = await slotOf(key);
    const source = await until(() => findMaster(slot));
    const other = (await slotsOf(source.master)).find(({ id }) => id !== source.id);
    if (!other) throw new Error("there is no other master");
    const setSlot = (node: TestRedis, ...words: string[]) =>
      ask(node, (client) => client.call("cluster", "setslot", String(slot), ...words));
    const target = await until(() => findMaster(other.from));
    await setSlot(target.master, "importing", source.id);
    await setSlot(source.master, "migrating", target.id);
    return { slot, source, target, setSlot };
  };
  /** Moves up to `most` keys; returns how many. */
  const moveKeys = async (slot: number, source: Owner, target: Owner, most: number) =>
    ask(source.master, async (client) => {
      const keys = await client.cluster("GETKEYSINSLOT", slot, most);
      const address = ["127.0.0.1", portOf(target.master), "", "0", "5000"];
      if (keys.length > 0) await client.call("migrate", ...address, "KEYS", ...keys.map(String));
      return keys.length;
    });
  /** Puts the keys of all slots together again, as an operator does: until all nodes see it, because some may learn of a restart late. */
  const fixSlots = () =>
    until(async () => {
      const fix = ["--cluster", "fix", hostOf(first), "--cluster-replace", "--cluster-yes"];
      await promisify(execFile)("redis-cli", fix, { timeout: FIX_MS }).catch(() => undefined);
      return (await Promise.all(nodes.map((node) => isWhole(node).catch(() => false)))).every(Boolean);
    });

  const hosts = [first, second].map((node) => (name === undefined ? hostOf(node) : `${name}:${portOf(node)}`));
  return {
    url: `${scheme}+cluster://${hosts.join()}${parameters}`,
    nodes,
    configure: async (name, value) => {
      await Promise.all(nodes.map((node) => ask(node, (client) => client.config("SET", name, value))));
    },
    healed,
    masterOf: async (key, before) => {
      const slot = await slotOf(key);
      return until(async () => {
        const found = await findMaster(slot);
        return found !== undefined && found.master !== before && found.master;
      });
    },
    moveSlotOf: async (key) => {
      const { slot, source, target, setSlot } = await beginMove(key);
      while ((await moveKeys(slot, source, target, 1)) > 0) await delay(SLOW_MOVE_MS);
      for (let cut = 0; cut < CUTS; cut += 1) {
        await ask(target.master, (client) => client.call("client", "kill", "type", "normal"));
        await delay(CUT_PAUSE_MS);
      }
      for (const node of [target.master, source.master]) await setSlot(node, "node", target.id);
    },
    breakMoveOf: async (key) => {
      const { slot, source, target } = await beginMove(key);
      const keys = await ask(source.master, (client) => client.cluster("COUNTKEYSINSLOT", slot));
      await moveKeys(slot, source, target, Math.ceil(keys / 2));
      await source.master.kill();
      await until(async () => {
        const found = await findMaster(slot);
        return found !== undefined && found.master !== source.master;
      });
      await source.master.restart();
      await fixSlots();
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

/** A master and its replica, watched by three sentinels. */
export interface RedisWatched {
  /** For REDIS_URL; it names two of the sentinels. */
  url: string;
  servers: readonly [TestRedis, TestRedis];
  /** The master that the sentinels name; resolves when it is another than `before`. */
  master(before?: TestRedis): Promise<TestRedis>;
  stop(): Promise<void>;
}

/** Starts them without persistence, over TLS with a certificate; resolves when a failover is possible. */
export async function startRedisWatched(tls?: SharedCertificate): Promise<RedisWatched> {
  const name = "jobs";
  const on = await commander(tls);
  const [scheme, parameters] = await forClients(tls);
  const servers = [await startRedis(tls), await startRedis(tls)] as const;
  const [master, replica] = servers;
  await on(replica, (client) => client.replicaof("127.0.0.1", portOf(master)));
  const sentinels = await Promise.all([0, 1, 2].map(() => startSentinel(name, portOf(master), tls)));
  const [first, second] = sentinels;
  if (!first || !second) throw new Error("there are no sentinels");
  for (const sentinel of sentinels)
    await until(() =>
      on(sentinel, async (client) => {
        const facts = String(await client.call("info", "sentinel"));
        return facts.includes("slaves=1,sentinels=3");
      }),
    );
  return {
    url: `${scheme}+sentinel://${hostOf(first)},${hostOf(second)}/${name}${parameters}`,
    servers,
    master: (before) =>
      until(() =>
        on(first, async (client) => {
          const found: unknown = await client.call("sentinel", "get-master-addr-by-name", name);
          return Array.isArray(found) && servers.find((each) => each !== before && portOf(each) === found[1]);
        }),
      ),
    stop: async () => {
      await Promise.all([...sentinels, ...servers].map((server) => server.stop()));
    },
  };
}
