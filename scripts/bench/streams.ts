import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { Measure } from "./chapter.js";
import { percentiles, quantile, type Effort } from "./compare.js";
import { authorizationOf, boxReads, placements, underLoad } from "./http.js";
import type { Lab } from "./lab.js";
import type { Marketplace } from "./marketplace.js";
import { StreamDelays, type StreamsPlan } from "./messages.js";
import { print, printGoal, printRow } from "./report.js";

const MOST_KB = 20;
const LONGEST_MS = 500;
/** One process would be busy with so many connections when an order comes. */
const CLIENT_PROCESSES = 2;
const ORDER_EVERY_MS = 50;
/** The first orders of new processes take longer, as their code is compiled. */
const WARM_UP_ORDERS = 200;
/** Garbage of the requests that opened the streams is collected meanwhile, and some heartbeats are sent. */
const SETTLE_MS = 35_000;
const BOARD = "/api/v1/partners/me/stream";

const countOf = ({ rounds }: Effort) => (rounds >= 5 ? 10_000 : 1_000);

/** Adds partners that sell nothing; returns their owners. */
async function addQuietPartners(client: pg.Client, count: number): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `with owners as (
       insert into users (service_id, phone, first_name)
       select 'SF-quiet-' || n, '+7' || (9200000000 + n), 'Нина' from generate_series(1, $1::integer) n
       returning id, service_id
     ), quiet as (
       insert into partners (slug, name, city_id, address, latitude, longitude, status, activated_at, owner_id)
       select lower(service_id), service_id, 'bench', 'Тверская улица, 1', 55.7, 37.6, 'ACTIVE', now(), id from owners
       returning owner_id
     )
     select owner_id as id from quiet`,
    [count],
  );
  await client.query("analyze");
  return rows.map(({ id }) => id);
}

const boardOf = async (userId: string) => {
  const { authorization = "" } = await authorizationOf(userId);
  return { path: BOARD, authorization };
};

/** Orders of all boxes, each with a key of its own. */
async function newOrders(marketplace: Marketplace, count: number): Promise<StreamsPlan["orders"]> {
  const { requests } = await placements(marketplace);
  return Array.from({ length: count }, (_, n) => {
    const { path = "", headers = {}, body = "" } = requests[n % requests.length] ?? {};
    return { path, body, headers: { ...headers, "idempotency-key": `streams-${n}` } };
  });
}

async function measureWith(lab: Lab, marketplace: Marketplace, effort: Effort, client: pg.Client): Promise<void> {
  const count = countOf(effort);
  const env = {
    STREAMS_PER_USER: "10",
    STREAMS_OPEN: String(2 * count),
    MAX_CONNECTIONS: String(4 * count),
    ...(lab.redisUrl !== null && { REDIS_URL: lab.redisUrl }),
  };
  const quiet = await addQuietPartners(client, count);
  const busy = await client.query<{ id: string }>(
    "select owner_id as id from partners where slug like 'bakery-%' order by slug",
  );
  const [api, load, , ...clients] = await Promise.all([
    lab.start("api/server", env),
    lab.start("scripts/bench/programs/load"),
    // without push services, messages are logged
    lab.start("workers/main", { ...env, NODE_ENV: "development" }),
    ...Array.from({ length: CLIENT_PROCESSES + 1 }, () => lab.start("scripts/bench/programs/streams")),
  ]);
  const [watcher, ...holders] = clients;
  if (!watcher) throw new Error("there is no client");
  const ask = (program: typeof watcher, plan: Partial<StreamsPlan>) =>
    program.ask({ url: api.url, streams: [], orders: [], everyMs: ORDER_EVERY_MS, ...plan }, StreamDelays);

  await underLoad("", api, load, boxReads(marketplace)).measure(effort.warmUpSeconds + effort.seconds);
  await ask(watcher, { streams: await Promise.all(busy.rows.map(({ id }) => boardOf(id))) });
  await delay(SETTLE_MS);
  const before = api.memoryBytes();
  const boards = await Promise.all(quiet.map(boardOf));
  const share = Math.ceil(boards.length / holders.length);
  const opened = await Promise.all(
    holders.map((holder, n) => ask(holder, { streams: boards.slice(n * share, (n + 1) * share) })),
  );
  const held = opened.reduce((sum, { open }) => sum + open, 0);
  if (held < count) throw new Error(`only ${held} streams are open`);
  const [cpu, since] = [api.cpuSeconds(), performance.now()];
  await delay(SETTLE_MS);
  const [after, used] = [api.memoryBytes(), api.cpuSeconds()];
  if (before === null || after === null || cpu === null || used === null) print("  memory: skipped, there is no /proc");
  else {
    const busyShare = (used - cpu) / ((performance.now() - since) / 1_000);
    printRow(`${count} open streams`, [
      { name: "memory of the process", value: after / 1e6, unit: "MB" },
      { name: "of a core, for heartbeats and checks", value: busyShare * 100, unit: "%" },
    ]);
    printGoal({
      name: "memory per stream",
      value: (after - before) / 1e3 / count,
      unit: "kB",
      sign: "≤",
      goal: MOST_KB,
    });
  }
  const orders = await newOrders(marketplace, WARM_UP_ORDERS + effort.samples * 4);
  await ask(watcher, { orders: orders.slice(0, WARM_UP_ORDERS) });
  const { delays, lost } = await ask(watcher, { orders: orders.slice(WARM_UP_ORDERS) });
  printRow("from the request to its partner's stream", percentiles(delays));
  printGoal({ name: "p99 of an order", value: quantile(delays, 0.99), unit: "ms", sign: "≤", goal: LONGEST_MS });
  printGoal({ name: "orders that did not come", value: lost, unit: "", sign: "≤", goal: 0 });
}

/** Measures the memory of open live streams, and how soon an order reaches the stream of its partner among them. */
export const holdStreams: Measure = async (lab, marketplace, effort) => {
  // this module reads the configuration on import, so the lab must have set it
  const { prepareBroker } = await import("../../queues/broker.js");
  await prepareBroker();
  const client = new pg.Client(lab.databaseUrl);
  await client.connect();
  try {
    await measureWith(lab, marketplace, effort, client);
  } finally {
    await client.end();
  }
};
