import { once } from "node:events";
import { Cluster, Redis } from "ioredis";
import type { RedisAddress } from "../lib/process/redis-address.js";
import { CALL_TIMEOUT_MS, NodeOfCluster, type Connections } from "./connections.js";
import { contracts } from "./index.js";

/** BullMQ lets a worker's call wait this long for a job at most. */
const LONGEST_WAIT_MS = 10_000;
/** A call of a worker without an answer by then has none to come: the network may have forgotten the connection. */
const SILENCE_MS = LONGEST_WAIT_MS + 2_000;
const LONGEST_RECONNECT_DELAY_MS = 500;
const FIRST_CONNECT_MS = 1_000;
/** The same for a script, which would rather wait: a cluster over TLS takes longer. */
const PATIENT_CONNECT_MS = 10_000;
/** How long a node of a cluster may take to say which node has what, before another is asked. */
const SLOTS_ANSWER_MS = 2_000;

/** Every queue and every worker adds some to the connection that it shares with the others. */
const MOST_LISTENERS = 10 * contracts.length;

/**
 * What all keys of a queue begin with. In a cluster the part in braces alone decides where a key lies: a queue is on one node,
 * and the queues are spread over all of them.
 */
export const prefixOf = (queue: string): string => `{${queue}}`;

/** It is there as long as Redis has not lost the jobs of the queue, and moves with them to another node. */
const markOf = (queue: string): string => `${prefixOf(queue)}:known`;

/** What a server says that is not the master any more, or not yet: another connection leads to the one that is. */
const isOfNoMaster = (error: Error): boolean => /^(READONLY|LOADING|MASTERDOWN)\b/.test(error.message);

const retryDelay = (times: number): number => Math.min(times * 50, LONGEST_RECONNECT_DELAY_MS);

const hostsIn = ({ hosts }: RedisAddress): string => hosts.map(({ host, port }) => `${host}:${port}`).join();

const names = { server: "Redis at", cluster: "Redis Cluster at", sentinel: "Redis, as known to the sentinels at" };

/**
 * When a slot moves, ioredis sends ASKING before a command and does not look how that ends: with its connection lost, the
 * rejection would end the process. The command has the same end, and is tried again. BullMQ's workers connect by duplicates.
 */
function tolerant(cluster: Cluster): Cluster {
  cluster.on("+node", (node: Redis) => {
    const asking = node.asking.bind(node);
    node.asking = () => asking().catch(() => "OK" as const);
  });
  const duplicate = cluster.duplicate.bind(cluster);
  cluster.duplicate = (...args) => tolerant(duplicate(...args));
  return cluster;
}

/**
 * A connection that sends the commands of one tick in one packet. Dozens of jobs end at once, and ioredis makes a system call for
 * each command, which wakes Redis each time.
 */
class SharingRedis extends Redis {
  override sendCommand(...sent: Parameters<Redis["sendCommand"]>): unknown {
    const { status, stream } = this;
    if (status === "ready" && stream.writableCorked === 0) {
      stream.cork();
      process.nextTick(() => stream.uncork());
    }
    return super.sendCommand(...sent);
  }
}

/** How a connection waits: see the options of ioredis with these names. */
interface Patience {
  readonly maxRetriesPerRequest: number | null;
  readonly socketTimeout: number;
  readonly commandTimeout?: number;
  readonly blockingTimeout?: number;
  readonly blockingTimeoutGrace?: number;
}

/** Opens a connection, in a cluster one to each node that is needed. With `failsFast` no command waits for it to be ready. */
function open(address: RedisAddress, patience: Patience, failsFast: boolean): Redis | Cluster {
  const { form, hosts, db, name, credentials, sentinelCredentials, tls } = address;
  const options = {
    ...patience,
    ...credentials,
    ...(tls && { tls }),
    connectTimeout: CALL_TIMEOUT_MS,
    reconnectOnError: isOfNoMaster,
  };
  if (form === "cluster")
    return tolerant(
      new Cluster([...hosts], {
        redisOptions: options,
        enableOfflineQueue: !failsFast,
        clusterRetryStrategy: retryDelay,
        slotsRefreshTimeout: SLOTS_ANSWER_MS,
        // certificates are for names
        dnsLookup: (host, callback) => callback(null, host),
      }),
    );
  const standing = { ...options, db, enableOfflineQueue: !failsFast, retryStrategy: retryDelay };
  if (form === "server") return new SharingRedis({ ...standing, ...hosts[0] });
  return new SharingRedis({
    ...standing,
    ...sentinelCredentials,
    ...(name !== undefined && { name }),
    ...(tls && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
    sentinels: [...hosts],
    sentinelRetryStrategy: retryDelay,
    sentinelCommandTimeout: CALL_TIMEOUT_MS,
  });
}

/** Connects to Redis: to one server, to a cluster, or to the master that sentinels name. `onError` gets what the connections suffer. */
export function connectToRedis(address: RedisAddress, onError: (error: unknown) => void): Connections {
  const connect = (patience: Patience, failsFast: boolean) => {
    const client = open(address, patience, failsFast);
    client.on("error", onError).setMaxListeners(MOST_LISTENERS);
    return client;
  };
  const producer = connect(
    { commandTimeout: CALL_TIMEOUT_MS, socketTimeout: CALL_TIMEOUT_MS, maxRetriesPerRequest: 1 },
    true,
  );
  if (producer instanceof Cluster) producer.on("node error", onError);
  /** The first command may come before the connection is ready. */
  const ready = async (ms: number) => {
    if (producer.status !== "connecting" && producer.status !== "connect") return;
    const limit = AbortSignal.timeout(ms);
    await once(producer, "ready", { signal: limit }).catch((error: unknown) => {
      throw limit.aborted ? new Error(`it is not connected after ${ms / 1_000} s`) : error;
    });
  };
  let consumer: Redis | Cluster | undefined;
  return {
    name: `${names[address.form]} ${hostsIn(address)}`,
    producer,
    consumer: () => {
      consumer ??= connect(
        {
          maxRetriesPerRequest: null,
          socketTimeout: SILENCE_MS,
          // the socket's timer may still be that of the connection before, and then a call that waits needs its own
          blockingTimeout: SILENCE_MS,
          blockingTimeoutGrace: SILENCE_MS - LONGEST_WAIT_MS,
        },
        false,
      );
      return consumer;
    },
    prepare: () => Promise.resolve(),
    ping: async (queues) => {
      await ready(FIRST_CONNECT_MS);
      if (address.form === "cluster") await Promise.all(queues.map((queue) => producer.exists(markOf(queue))));
      else if ((await producer.info("cluster")).includes("cluster_enabled:1")) throw new NodeOfCluster();
    },
    describe: async () => {
      await ready(PATIENT_CONNECT_MS);
      const servers = producer instanceof Cluster ? producer.nodes() : [producer];
      return Promise.all(servers.map((server) => server.info()));
    },
    listLost: async () => {
      const found = await Promise.all(contracts.map(({ queue }) => producer.exists(markOf(queue))));
      return contracts.filter((_, place) => found[place] === 0).map(({ queue }) => queue);
    },
    remember: async (queues) => {
      await Promise.all(queues.map((queue) => producer.set(markOf(queue), 1)));
    },
    close: () => {
      for (const client of [producer, consumer]) client?.disconnect();
      return Promise.resolve();
    },
  };
}
