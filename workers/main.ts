import { config } from "../lib/config.js";
import { describeErrorWithPlaces } from "../lib/describe-error.js";
import { log } from "../lib/log.js";
import { closeBroker } from "../queues/broker.js";
import { closeDatabase } from "../sql/db.js";
import { serveMetrics } from "./metrics.js";
import { startWorkers, unknownQueues } from "./start.js";

/** Running jobs get this long to end; together with closing the connections it stays below 20 s. */
const STOP_LIMIT_MS = 15_000;
const CLOSE_LIMIT_MS = 3_000;

const queues = process.argv.slice(2);
const unknown = unknownQueues([...queues, ...Object.keys(config.WORKER_CONCURRENCY)]);
if (unknown.length > 0) {
  process.stderr.write(`There is no queue named ${unknown.join(", ")}\n`);
  process.exit(1);
}

process.on("uncaughtException", (error) => {
  log.fatal({ error: describeErrorWithPlaces(error) }, "uncaught exception");
  process.exit(1);
});

const workers = startWorkers(queues);
const stopping = new AbortController();
if (config.WORKER_METRICS_PORT !== 0) serveMetrics(config.WORKER_METRICS_PORT, stopping.signal);

/** Resolves to false when `work` takes longer than `ms`. */
function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), ms);
    work.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}

async function stop(): Promise<void> {
  log.info("stopping");
  if (!(await within(STOP_LIMIT_MS, workers.stop())))
    log.warn("stopping with jobs still running; they will be run again");
  await within(CLOSE_LIMIT_MS, Promise.all([closeBroker(), closeDatabase()]));
  log.info("stopped");
}

// "disconnect": `npm start` made this process and is gone, so nobody else would stop it
for (const name of ["SIGTERM", "SIGINT", "disconnect"] as const) {
  process.on(name, () => {
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ error: describeErrorWithPlaces(error) }, "stopping failed");
        process.exit(1);
      },
    );
  });
}
process.send?.({ started: true });
