import cluster from "node:cluster";
import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { openQueues } from "../queues/broker.js";
import { databaseStats, sql } from "../sql/db.js";
import { stagedJobStats } from "../sql/queries/staged-jobs.js";

/** The metrics of one API process. */
export const registry = new Registry();
collectDefaultMetrics({ register: registry });

const gauge = (
  name: string,
  help: string,
  labelNames: string[],
  aggregator: "max" | "sum",
  collect: (gauge: Gauge) => Promise<void> | void,
) =>
  new Gauge({
    name,
    help,
    labelNames,
    aggregator,
    registers: [registry],
    async collect() {
      this.reset();
      await collect(this);
    },
  });

gauge("database_connections", "Statements and transactions in use and waiting.", ["pool", "state"], "sum", (value) => {
  for (const { pool, state, count } of databaseStats()) value.set({ pool, state }, count);
});

gauge(
  "outbox_lag_seconds",
  "Age of the oldest due job that was not handed to the queue yet.",
  [],
  "max",
  async (value) => {
    value.set((await stagedJobStats(sql)).lagSeconds);
  },
);

gauge("queue_jobs", "Jobs in the queue, by queue and state.", ["queue", "state"], "max", async (value) => {
  await Promise.all(
    openQueues().map(async (queue) => {
      const counts = await queue.getJobCounts("waiting", "active", "delayed", "failed");
      for (const [state, jobs] of Object.entries(counts)) value.set({ queue: queue.name, state }, jobs);
    }),
  );
});
