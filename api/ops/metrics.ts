import { randomUUID } from "node:crypto";
import cluster, { type Worker } from "node:cluster";
import { AggregatorRegistry, Counter, Gauge } from "prom-client";
import { z } from "zod";
import { config } from "../../lib/process/config.js";
import { describeError } from "../../lib/process/describe-error.js";
import { expositionOf, type Exposition } from "../../lib/process/exemplars.js";
import { withTimeout } from "../../lib/process/with-timeout.js";
import { log } from "../../lib/process/log.js";
import { files } from "../../lib/storage/file-store.js";
import { contracts } from "../../queues/index.js";
import { databaseStats, replicaStats, sql } from "../../sql/db.js";
import { findEventLag } from "../../sql/queries/events.js";
import { findHeartbeatAge } from "../../sql/queries/heartbeats.js";
import { countParkedEvents } from "../../sql/queries/operations.js";
import { listQueueSettings } from "../../sql/queries/queue-settings.js";
import { findYesterday, listDueDays } from "../../sql/queries/rollups.js";
import { countDeadJobs, findOutboxLag } from "../../sql/outbox.js";
import { registry } from "../http/registry.js";
import { loadBroker } from "./broker.js";

/** Well below the timeouts of scrapers, and of the cluster's primary when it collects from all processes. */
const readLimitMs = 2_000;

interface Measure {
  name: string;
  help: string;
  labelNames?: string[];
  /** Across the processes of a cluster: `sum` for values of each process, `max` for values that all of them share. */
  aggregator: "sum" | "max";
  collect: (gauge: Gauge) => Promise<void> | void;
}

/** Declares a metric that is read on each scrape; one that cannot be read is left out and does not affect the others. */
function measure({ name, help, labelNames = [], aggregator, collect }: Measure): void {
  new Gauge({
    name,
    help,
    labelNames,
    aggregator,
    registers: [registry],
    async collect() {
      this.reset();
      try {
        await withTimeout(readLimitMs, Promise.resolve(collect(this)));
      } catch (error) {
        if (labelNames.length === 0) this.remove();
        else this.reset();
        log.warn({ metric: name, error: describeError(error) }, "a metric could not be read");
      }
    },
  });
}

measure({
  name: "database_pool",
  help: "Statements and transactions that run or wait for a connection.",
  labelNames: ["pool", "state"],
  aggregator: "sum",
  collect: (gauge) => {
    const { statements, transactions } = databaseStats();
    gauge.set({ pool: "statements", state: "running" }, statements.running);
    gauge.set({ pool: "transactions", state: "running" }, transactions.running);
    gauge.set({ pool: "transactions", state: "waiting" }, transactions.waiting);
  },
});

measure({
  name: "database_replica_lag_seconds",
  help: "How old the data of a replica may be; reads pass it over above DATABASE_REPLICA_MAX_LAG_MS.",
  labelNames: ["replica"],
  aggregator: "max",
  collect: (gauge) => {
    for (const { name, lagSeconds } of replicaStats().replicas) gauge.set({ replica: name }, lagSeconds);
  },
});

new Counter({
  name: "database_replica_reads_total",
  help: "Reads that a replica answered, or that the primary answered after it: the replica had no row, failed, or was passed over (no replica could be used).",
  labelNames: ["replica", "outcome"],
  registers: [registry],
  collect() {
    this.reset();
    const { replicas, passedOver } = replicaStats();
    for (const { name, reads } of replicas)
      for (const [outcome, count] of Object.entries(reads)) this.inc({ replica: name, outcome }, count);
    if (replicas.length > 0) this.inc({ replica: "none", outcome: "passed_over" }, passedOver);
  },
});

measure({
  name: "outbox_lag_seconds",
  help: "Age of the oldest due job that was never handed to its queue.",
  aggregator: "max",
  collect: async (gauge) => gauge.set(await findOutboxLag(sql)),
});

measure({
  name: "event_log_lag_seconds",
  help: "Age of the oldest event that has no position in the log yet.",
  aggregator: "max",
  collect: async (gauge) => gauge.set(await findEventLag(sql)),
});

measure({
  name: "outbox_dead_jobs",
  help: "Dead jobs by queue: given up, and kept for an operator.",
  labelNames: ["queue"],
  aggregator: "max",
  collect: async (gauge) => {
    const dead = await countDeadJobs(sql);
    for (const { queue } of contracts) gauge.set({ queue }, 0);
    for (const { queue, jobs } of dead) gauge.set({ queue }, jobs);
  },
});

measure({
  name: "queue_paused",
  help: "1 for a queue that an operator has paused, else 0.",
  labelNames: ["queue"],
  aggregator: "max",
  collect: async (gauge) => {
    const settings = await listQueueSettings(sql);
    for (const { queue } of contracts)
      gauge.set({ queue }, Number(settings.some((setting) => setting.queue === queue && setting.pausedAt !== null)));
  },
});

measure({
  name: "worker_canary_age_seconds",
  help: "Time since a worker last ran the canary, which is scheduled every 30 seconds; since this process started when none ever did.",
  aggregator: "max",
  collect: async (gauge) => gauge.set((await findHeartbeatAge(sql, "canary")) ?? process.uptime()),
});

measure({
  name: "rollup_due_days",
  help: "Past days that are not rolled up, whose figures are counted on every request.",
  aggregator: "max",
  collect: async (gauge) => {
    const zone = config.DEFAULT_TIMEZONE;
    gauge.set((await listDueDays(sql, zone, await findYesterday(sql, zone))).length);
  },
});

measure({
  name: "pos_parked_events",
  help: "POS events that could not be applied, up to 10000: an operator replays them.",
  aggregator: "max",
  collect: async (gauge) => gauge.set((await countParkedEvents(sql)).events),
});

for (const [name, side, help] of [
  ["storage_free_bytes", "free", "What is left of the disk of STORAGE_DIR; absent for a bucket."],
  ["storage_size_bytes", "size", "The size of the disk of STORAGE_DIR; absent for a bucket."],
] as const)
  measure({
    name,
    help,
    aggregator: "max",
    collect: async (gauge) => {
      const space = await files.space();
      if (space) gauge.set(space[side]);
      else gauge.remove();
    },
  });

measure({
  name: "queue_jobs",
  help: "Jobs in the broker, by queue and state.",
  labelNames: ["queue", "state"],
  aggregator: "max",
  collect: async (gauge) => {
    const { openQueues } = await loadBroker();
    await Promise.all(
      openQueues().map(async (queue) => {
        // jobs with a priority wait like the others, and so do those of a paused queue, which BullMQ on Postgres counts only here
        const [{ 0: others = 0 }, { prioritized = 0, ...counts }] = await Promise.all([
          queue.getCountsPerPriority([0]),
          queue.getJobCounts("prioritized", "active", "delayed", "completed", "failed"),
        ]);
        const states = { ...counts, waiting: prioritized + others };
        for (const [state, jobs] of Object.entries(states)) gauge.set({ queue: queue.name, state }, jobs);
      }),
    );
  },
});

const Ask = z.object({ askMetrics: z.string() });
const Answer = z.object({ metricsFor: z.string(), text: z.string() });

/**
 * Returns all metrics, with exemplars or in Prometheus' text format; in a cluster, any process returns those of all processes, without
 * exemplars: sums have none.
 */
export async function readMetrics(exemplars: boolean): Promise<Exposition> {
  const { worker } = cluster;
  if (!worker) return expositionOf(registry, exemplars);
  return { type: registry.contentType, text: await readCluster(worker) };
}

function readCluster(worker: Worker): Promise<string> {
  const id = randomUUID();
  return new Promise((resolve, reject) => {
    const finish = (act: () => void) => {
      clearTimeout(timer);
      worker.off("message", receive);
      act();
    };
    const timer = setTimeout(() => finish(() => reject(new Error("the primary process did not answer"))), 5_000);
    const receive = (message: unknown) => {
      const answer = Answer.safeParse(message);
      if (answer.success && answer.data.metricsFor === id) finish(() => resolve(answer.data.text));
    };
    worker.on("message", receive);
    worker.send({ askMetrics: id });
  });
}

/** In a forked process of a cluster: lets the primary collect this process's metrics. */
export function joinMetrics(): void {
  AggregatorRegistry.setRegistries([registry]);
  new AggregatorRegistry();
}

/** In the primary of a cluster: sends the metrics of all processes to a process that asks. */
export function serveMetrics(): void {
  const aggregate = new AggregatorRegistry();
  cluster.on("message", (worker, message: unknown) => {
    const ask = Ask.safeParse(message);
    if (!ask.success) return;
    aggregate.clusterMetrics().then(
      (text) => worker.send({ metricsFor: ask.data.askMetrics, text }),
      (error: unknown) => log.warn({ error: describeError(error) }, "the processes' metrics could not be collected"),
    );
  });
}
