import { sum, total, type Cost } from "./costs.js";
import type { Measurement } from "./measure.js";
import { FOLLOWERS } from "./shop.js";

/** What is assumed of a marketplace and its machines, beyond what is measured. */
export const assumptions = {
  peakShare: [1 / 3, "of a day's orders come at its peak, in the evening"],
  peakHours: [2, "hours of peak a day"],
  boxReads: [10, "reads of a box, for each order"],
  listReads: [8, "lists of 20 boxes, for each order"],
  nearbyReads: [4, "searches around a place, for each order"],
  orderReads: [4, "lists of one's own orders, for each order"],
  reviews: [0.3, "reviews, for each order"],
  newBoxes: [0.2, "boxes listed, for each order: five are sold of each"],
  partnerOrders: [10, "orders of a partner a day"],
  followers: [10, "followers who are notified of a new box"],
  webhooks: [0.5, "events of POS systems, for each order"],
  uploads: [0.01, "photographs uploaded, for each order"],
  bloat: [1.3, "times its compact size is that of a table, as updates leave space between vacuums"],
  busy: [0.6, "of a core may be busy at the peak, on average"],
  postgresCores: [64, "cores of the largest primary"],
  postgresConnections: [2_000, "connections are what it takes"],
  walBytesPerSecond: [200e6, "of WAL a second are what its disk and its replicas take"],
  databaseBytes: [16e12, "of data can still be backed up, and restored within a day"],
} as const satisfies Record<string, readonly [value: number, meaning: string]>;

const value = (name: keyof typeof assumptions): number => assumptions[name][0];

/** The cost of an order's whole life, and of what comes with it in a marketplace: reads, new boxes, uploads, events of POS systems. */
export function perOrder({ steps, operations }: Measurement): { life: Cost; all: Cost } {
  const { placed, reminded, ready, completed, reviewed, purged, vacuumed } = steps;
  // a rollup has a row for each partner and each box of a day, however few orders were measured
  const rows = { rollup_items: value("newBoxes"), rollup_partners: 1 / value("partnerOrders") };
  const rolledUp = { ...steps.rolledUp, rows };
  // so many boxes with all the measured followers notify as many as all boxes with the assumed ones
  const notified = (value("newBoxes") * value("followers")) / FOLLOWERS;
  const times: [Cost, number][] = [placed, reminded, ready, completed, rolledUp, purged, vacuumed].map((cost) => [
    cost,
    1,
  ]);
  return {
    life: total([...times, [reviewed, 1]]),
    all: total([
      ...times,
      [reviewed, value("reviews")],
      [operations.box, value("boxReads")],
      [operations.list, value("listReads")],
      [operations.nearby, value("nearbyReads")],
      [operations.orders, value("orderReads")],
      [operations.newBox, value("newBoxes") - notified],
      [operations.newBoxWithFollowers, notified],
      [operations.sale, value("webhooks")],
      [operations.upload, value("uploads")],
    ]),
  };
}

export const sizes = [1e4, 1e5, 1e6, 1e7, 1e8];

interface Limit {
  part: string;
  used: number;
}

const most = (limits: readonly Limit[]): Limit =>
  limits.reduce((one, other) => (other.used > one.used ? other : one), { part: "none", used: 0 });

export interface Size {
  orders: number;
  /** Orders a second at the peak. */
  peak: number;
  apiProcesses: number;
  workerProcesses: number;
  postgresCores: number;
  /** Cores of Redis; a node of it has one. */
  redisCores: number;
  connections: number;
  walBytesPerDay: number;
  diskBytesPerDay: number;
  /** The busiest queue, and its jobs a second at the peak. */
  queue: string;
  jobs: number;
  /** The part that has the least left, and how much of it is used; above 1 one is not enough. */
  limit: Limit;
  /** The same of the primary alone. */
  primary: Limit;
}

/** The bytes of rows of a table, with the space that updates leave between vacuums. */
const bytesOf = ({ rowBytes }: Measurement, table: string, rows: number) =>
  rows * (rowBytes[table] ?? 0) * value("bloat");

/** Jobs a second that one node of Redis carries: it runs commands on one core. */
export function jobsOfRedis(measurement: Measurement): number {
  const { all } = perOrder(measurement);
  return (value("busy") * 1_000 * sum(Object.values(all.jobs))) / all.cpuMs.redis;
}

export function sizeFor(measurement: Measurement, orders: number): Size {
  const { all } = perOrder(measurement);
  const peak = (orders * value("peakShare")) / (value("peakHours") * 3_600);
  const cores = (part: "api" | "workers" | "postgres" | "redis") => (peak * all.cpuMs[part]) / 1_000 / value("busy");
  const processes = (part: "api" | "workers") => Math.max(2, Math.ceil(cores(part)));
  const [queue, jobs] = Object.entries(all.jobs).reduce((one, other) => (other[1] > one[1] ? other : one), ["", 0]);
  const [apiProcesses, workerProcesses] = [processes("api"), processes("workers")];
  const connections = (apiProcesses + workerProcesses) * measurement.connections;
  const postgresCores = cores("postgres");
  const redisCores = cores("redis");
  const walBytes = all.walBytes;
  const ofPrimary = [
    { part: "cores of Postgres", used: postgresCores / value("postgresCores") },
    { part: "connections to Postgres", used: connections / value("postgresConnections") },
    { part: "WAL", used: (peak * walBytes) / value("walBytesPerSecond") },
    { part: "size of the database", used: yearOf(measurement, orders).bytes / value("databaseBytes") },
  ];
  return {
    orders,
    peak,
    apiProcesses,
    workerProcesses,
    postgresCores,
    redisCores,
    connections,
    walBytesPerDay: orders * walBytes,
    diskBytesPerDay: orders * sum(Object.entries(all.rows).map(([table, rows]) => bytesOf(measurement, table, rows))),
    queue,
    jobs: peak * jobs,
    limit: most([...ofPrimary, { part: "the core of Redis", used: redisCores }]),
    primary: most(ofPrimary),
  };
}

/** How long rows are kept, in days; tables that are not named are kept. */
export const retention: Readonly<Record<string, readonly [days: number, task: string]>> = {
  staged_jobs: [1, "purge-staged-jobs"],
  idempotency_keys: [1, "purge-idempotency-keys"],
  notifications: [180, "purge-notifications"],
  notification_deliveries: [180, "purge-notifications"],
  pos_events: [30, "purge-pos-events"],
  pos_syncs: [30, "purge-pos-events"],
  rate_counters: [0.01, "purge-rate-counters"],
  action_counts: [0.01, "purge-rate-counters"],
  rollup_changes: [1, "the rollup of the day"],
  events: [30, "drop-old-events"],
  new_events: [0.01, "the numbering of events"],
};

export interface TableSize {
  table: string;
  rows: number;
  bytes: number;
  kept: string;
}

/** What a year of so many orders a day makes of the tables that grow with orders, largest first. */
export function yearOf(measurement: Measurement, orders: number): { tables: TableSize[]; bytes: number } {
  const { all } = perOrder(measurement);
  const tables = Object.entries(all.rows)
    .map(([table, each]) => {
      const [days, task] = retention[table] ?? [365, null];
      const rows = orders * Math.min(days, 365) * each;
      const duration = days === 1 ? "a day" : days > 1 ? `${days} days` : "10 minutes";
      const kept = task === null ? "for ever" : `${duration}, ${task}`;
      return { table, rows, bytes: bytesOf(measurement, table, rows), kept };
    })
    .filter(({ rows }) => rows >= 1)
    .sort((one, other) => other.bytes - one.bytes);
  return { tables, bytes: sum(tables.map(({ bytes }) => bytes)) };
}
