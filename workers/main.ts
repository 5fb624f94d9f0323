import { once } from "node:events";
import { queueNames } from "../lib/domain/queue-names.js";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { withTimeout } from "../lib/process/with-timeout.js";
import { announceUp, exitOnUncaught, exitWithLine, onStop } from "../lib/process/lifecycle.js";
import { log } from "../lib/process/log.js";
import { startTraces, stopTraces } from "../lib/process/traces.js";
import { logWarnings } from "../lib/process/warnings.js";
import { logStorageProblems } from "../lib/storage/log-storage-problems.js";
import { closeBroker, pingBroker } from "../queues/broker.js";
import { NodeOfCluster } from "../queues/connections.js";
import { startBeats } from "../sql/beats.js";
import { closeDatabase } from "../sql/db.js";
import { closeSignals } from "../sql/signals.js";
import { serveMetrics } from "./metrics.js";
import { startWorkers, unknownQueues } from "./start.js";
import { pausedOrigins } from "./slots.js";
import { untilMigrated } from "./until-migrated.js";

/** Running jobs get this long to end, and then connections get CLOSE_LIMIT_MS to close. */
const STOP_LIMIT_MS = 14_000;
const CLOSE_LIMIT_MS = 3_000;

exitOnUncaught();
const queues = process.argv.slice(2);
const unknown = unknownQueues(queues);
if (unknown.length > 0)
  exitWithLine(`There is no queue named ${unknown.join(", ")}; the queues are ${queueNames.join(", ")}`);
logWarnings();

await startTraces("surplus-food-worker");
const stopping = new AbortController();
if (config.WORKER_METRICS_PORT !== 0)
  await once(serveMetrics(config.WORKER_METRICS_PORT, stopping.signal), "listening");
void logStorageProblems();

let workers: ReturnType<typeof startWorkers> | undefined;
let beats: ReturnType<typeof startBeats> | undefined;
onStop(async () => {
  stopping.abort();
  const stopped = Promise.resolve(workers).then((started) => started?.stop());
  await withTimeout(STOP_LIMIT_MS, stopped).catch((error: unknown) =>
    log.warn({ error: describeError(error) }, "stopping with jobs still running; they will be run again"),
  );
  await beats?.stop();
  await withTimeout(CLOSE_LIMIT_MS, Promise.all([closeSignals(), closeBroker(), closeDatabase(), stopTraces()]));
});
if (await untilMigrated(stopping.signal)) {
  // a broker that is down is waited for
  void pingBroker().catch((error: unknown) => {
    if (error instanceof NodeOfCluster) exitWithLine(error.message);
  });
  beats = startBeats("WORKER", pausedOrigins);
  workers = startWorkers(queues);
  await workers;
  announceUp();
}
