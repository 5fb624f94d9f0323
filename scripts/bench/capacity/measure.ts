import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { z } from "zod";
import { newVapidKeys } from "../../../lib/process/push-keys.js";
import type { Lab } from "../lab.js";
import { seedMarketplace } from "../marketplace.js";
import { print } from "../report.js";
import { Cost, Idle, Meter } from "./costs.js";
import { Shop } from "./shop.js";

/** How much to measure. */
export const Effort = z.object({
  /** Orders of a round; each part of their lives is measured for all of them. */
  orders: z.int(),
  /** Before, processes compile their hot code: the first thousands of requests cost up to three times as much. */
  warmUpOrders: z.int(),
  reads: z.int(),
  uploads: z.int(),
  boxes: z.int(),
});
export type Effort = z.output<typeof Effort>;

/** What is measured of the parts of an order's life, and of other operations. */
export const Measurement = z.object({
  steps: z.object({
    placed: Cost,
    reminded: Cost,
    ready: Cost,
    completed: Cost,
    reviewed: Cost,
    rolledUp: Cost,
    vacuumed: Cost,
    purged: Cost,
  }),
  operations: z.object({
    box: Cost,
    list: Cost,
    nearby: Cost,
    orders: Cost,
    sale: Cost,
    upload: Cost,
    newBox: Cost,
    newBoxWithFollowers: Cost,
  }),
  idle: Idle,
  /** Bytes of a row, its entries in indexes included, by table. */
  rowBytes: z.record(z.string(), z.number()),
  /** Connections to Postgres that a process may open. */
  connections: z.number(),
  /** Redis's memory for a job that waits; null without Redis. */
  waitingJobBytes: z.number().nullable(),
});
export type Measurement = z.output<typeof Measurement>;

const IDLE_SECONDS = 8;
const WAITING_JOBS = 10_000;
/** How often an hourly or daily task is repeated, as one run is too short to measure. */
const REPETITIONS = 5;

/** Settings of the server: statements are counted. */
export const settings = { shared_preload_libraries: "pg_stat_statements", autovacuum_naptime: "3600" };

/** On a busy machine a run takes longer, and its figures by CPU time still mean something. */
const patient = { DATABASE_TIMEOUT_MS: "60000", DATABASE_WAIT_MS: "60000", SEARCH_TIMEOUT_MS: "60000" };

const ZONE = "Europe/Moscow";

async function measureIdle(meter: Meter): Promise<void> {
  const { cpuMs, statements, walBytes } = await meter.measure(IDLE_SECONDS, () => delay(IDLE_SECONDS * 1_000));
  meter.idle = { cpuMs, statements, walBytes };
}

/** Measures all parts of the lives of `count` orders. */
async function measureLives(meter: Meter, shop: Shop, count: number): Promise<Omit<Measurement["steps"], "purged">> {
  const step = (work: () => Promise<unknown>) =>
    meter.measure(count, async () => {
      await work();
      await shop.settle();
    });
  let orders: Awaited<ReturnType<Shop["place"]>> = [];
  await meter.ask("vacuum");
  const placed = await step(async () => {
    orders = await shop.place(count);
  });
  const reminded = await step(() => shop.remind());
  const ready = await step(() => shop.move(orders, "READY"));
  const completed = await step(() => shop.move(orders, "COMPLETED"));
  const reviewed = await step(() => shop.review(orders));
  const vacuumed = await meter.measure(count, () => meter.ask("vacuum"));
  const ofDay = await meter.one(
    `select count(*) as n from orders where created_at >= start_of_day((now() at time zone '${ZONE}')::date, '${ZONE}')`,
  );
  const rolledUp = await meter.measure(ofDay * REPETITIONS, async () => {
    for (let n = 0; n < REPETITIONS; n += 1)
      await meter.ask(`select roll_up((now() at time zone '${ZONE}')::date, '${ZONE}')`);
  });
  return { placed, reminded, ready, completed, reviewed, vacuumed, rolledUp };
}

/** Deletes, in the batches of upkeep, what it deletes of orders in the end: jobs, idempotency keys and notifications. */
async function measurePurges(meter: Meter): Promise<Cost> {
  // these modules read the configuration on import, so the lab must have set it
  const { sql } = await import("../../../sql/db.js");
  const { deleteOldJobs } = await import("../../../sql/outbox.js");
  const { deleteOldIdempotencyKeys } = await import("../../../sql/queries/orders.js");
  const batch = 5_000;
  await meter.ask("update staged_jobs set done_at = done_at - interval '2 days' where done_at is not null");
  await meter.ask("update idempotency_keys set created_at = created_at - interval '2 days'");
  await meter.ask("vacuum analyze");
  const orders = await meter.one("select count(*) as n from idempotency_keys");
  return meter.measure(orders, async () => {
    for (const purge of [deleteOldJobs, deleteOldIdempotencyKeys])
      for (let deleted = batch; deleted > 0;) deleted = await purge(sql, batch);
    await meter.ask("delete from notifications where id in (select id from notifications order by id)");
  });
}

/** Measures how much memory Redis needs for each of many jobs that wait. */
async function measureWaitingJobs(): Promise<number> {
  const { describeRedis, openQueue } = await import("../../../queues/broker.js");
  const { push } = await import("../../../queues/index.js");
  const used = async () => Number((await describeRedis())[0]?.get("used_memory"));
  const queue = openQueue(push);
  await queue.waitUntilReady();
  const before = await used();
  const payload = { notificationId: "01999999-9999-7999-8999-999999999999" };
  await queue.addBulk(
    Array.from({ length: WAITING_JOBS }, (_, n) => ({
      name: push.queue,
      data: payload,
      opts: { jobId: `${9_000_000_000 + n}.0` },
    })),
  );
  const bytes = ((await used()) - before) / WAITING_JOBS;
  await queue.obliterate({ force: true });
  return bytes;
}

/** Runs one API and one worker process, and measures what operations cost in all processes. */
export async function measure(lab: Lab, effort: Effort): Promise<Measurement> {
  const redis = lab.redisUrl === null ? {} : { REDIS_URL: lab.redisUrl };
  // for the service's modules that this process imports
  Object.assign(process.env, redis);
  const { closeBroker, prepareBroker } = await import("../../../queues/broker.js");
  const { mostConnections } = await import("../../check/postgres.js");
  const marketplace = await seedMarketplace(lab.databaseUrl);
  await prepareBroker();
  const pushService = await lab.start("scripts/bench/programs/push-service");
  const [api, workers] = await Promise.all([
    lab.start("api/server", { ...redis, ...patient, RATE_LIMIT_WEBHOOKS: "1000000", LOG_LEVEL: "info" }),
    lab.start("workers/main", {
      ...redis,
      ...patient,
      ...newVapidKeys(),
      // a push service on this machine has no public address
      NODE_ENV: "development",
      LOG_LEVEL: "info",
      ALLOW_PRIVATE_ADDRESSES: "1",
      PUSH_SERVICES: new URL(pushService.url).host,
    }),
  ]);
  const client = new pg.Client(lab.databaseUrl);
  await client.connect();
  const meter = new Meter(client, { api, workers, postgres: lab.postgres, redis: lab.redis });
  const shop = new Shop(api.url, meter, marketplace);
  try {
    await meter.ask("create extension pg_stat_statements");
    await shop.open(pushService.url);
    print("  warming up");
    await measureLives(meter, shop, effort.warmUpOrders);
    await measureIdle(meter);
    await meter.ask("checkpoint");
    print("  orders");
    const lives = await measureLives(meter, shop, effort.orders);
    const rowBytes = await meter.rowBytes();
    const steps = { ...lives, purged: await measurePurges(meter) };
    const operation = async (name: string, count: number, work: (times: number) => Promise<unknown>) => {
      print(`  ${name}`);
      const all = async () => {
        await work(count);
        await shop.settle();
      };
      await all();
      await meter.ask("vacuum");
      return meter.measure(count, all);
    };
    const operations = {
      box: await operation("reads", effort.reads, (times) => shop.readBoxes(times)),
      list: await operation("lists", effort.reads, (times) => shop.listBoxes(times)),
      nearby: await operation("searches", effort.reads, (times) => shop.searchNearby(times)),
      orders: await operation("lists of orders", effort.reads, (times) => shop.readOrders(times)),
      sale: await operation("webhooks", effort.orders, (times) => shop.reportSales(times)),
      upload: await operation("uploads", effort.uploads, (times) => shop.upload(times)),
      newBox: await operation("new boxes", effort.boxes * 50, (times) => shop.listNew(times, false)),
      newBoxWithFollowers: await operation("new boxes with followers", effort.boxes, (times) =>
        shop.listNew(times, true),
      ),
    };
    const waitingJobBytes = lab.redisUrl === null ? null : (await workers.stop(), await measureWaitingJobs());
    return {
      steps,
      operations,
      idle: meter.idle,
      rowBytes: { ...(await meter.rowBytes()), ...rowBytes },
      connections: mostConnections,
      waitingJobBytes,
    };
  } finally {
    await closeBroker();
    await shop.close();
    await client.end();
  }
}
