import cluster from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:http";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { withTimeout } from "../lib/process/with-timeout.js";
import { announceUp, exitOnUncaught, exitWithLine, onStop } from "../lib/process/lifecycle.js";
import { log } from "../lib/process/log.js";
import { startTraces, stopTraces } from "../lib/process/traces.js";
import { version } from "../lib/process/version.js";
import { logWarnings } from "../lib/process/warnings.js";
import { logStorageProblems } from "../lib/storage/log-storage-problems.js";
import { startBeats } from "../sql/beats.js";
import { closeDatabase } from "../sql/db.js";
import { closeSignals } from "../sql/signals.js";
import { adCounters } from "./routes/ads/counters.js";
import { endEventWaits } from "./routes/events/log.js";
import { endStreams } from "./routes/events/open-streams.js";
import { app } from "./app.js";
import { closeWaitingResponses, limitConnections } from "./http/connections.js";
import { refuseUnreadable } from "./http/errors.js";
import { refuseEarly } from "./http/overload.js";
import { closeBroker } from "./ops/broker.js";
import { logDatabaseProblems, markUnready } from "./ops/health.js";
import { messageClasses } from "./http/message-classes.js";
import { joinMetrics, serveMetrics } from "./ops/metrics.js";

/** How long open requests may take to finish after SIGTERM. */
const finishLimitMs = 14_000;
/** How long the last impressions and clicks may then take to be written. */
const flushLimitMs = 2_000;
const idleCheckMs = 50;
/** A process that keeps dying must not keep the machine busy with restarts. */
const replaceAfterMs = 500;

async function serve(): Promise<void> {
  await startTraces("surplus-food-api");
  // 10 MB over a slow mobile connection take minutes; bodies that are no files have their own limit (http/body-time.ts)
  const timeouts = { requestTimeout: 300_000, headersTimeout: 20_000, keepAliveTimeout: 65_000 };
  const often = { connectionsCheckingInterval: 5_000 };
  const server = createServer({ ...timeouts, ...often, ...messageClasses(app) }, refuseEarly(app));
  const most = config.MAX_CONNECTIONS;
  // all connections of a proxy have its address
  limitConnections(server, most, config.TRUST_PROXY > 0 ? most : Math.ceil(most / 2));
  closeWaitingResponses(server);
  server.on("clientError", refuseUnreadable);
  server.once("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EADDRINUSE") exitWithLine(`PORT ${config.PORT} is in use by another program.`);
    if (error.code === "EACCES") exitWithLine(`PORT ${config.PORT} may not be used by this user.`);
    exitWithLine(`The API cannot listen on ${config.HOST}:${config.PORT}: ${describeError(error)}`);
  });
  server.listen(config.PORT, config.HOST);
  await once(server, "listening");
  const address = server.address();
  log.info(
    { version, port: typeof address === "object" ? address?.port : address, pid: process.pid },
    "the API is listening",
  );
  void logDatabaseProblems();
  void logStorageProblems();
  const beats = startBeats("API");
  announceUp();

  onStop(async () => {
    markUnready();
    endEventWaits();
    endStreams();
    const closed = once(server, "close");
    server.close();
    // keep-alive connections close after their current response
    server.prependListener("request", (_request, response) => response.setHeader("Connection", "close"));
    const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs);
    const limit = setTimeout(() => {
      log.warn("open requests are aborted");
      server.closeAllConnections();
    }, finishLimitMs);
    await closed;
    clearInterval(idle);
    clearTimeout(limit);
    await withTimeout(flushLimitMs, adCounters.flush()).catch((error: unknown) =>
      log.warn({ error: describeError(error) }, "the last impressions and clicks are lost"),
    );
    await Promise.all([closeSignals(), closeBroker(), beats.stop(), stopTraces()]);
    await closeDatabase();
  });
}

/**
 * Shares the port among several processes. The first starts alone, so that an error common to all is logged once.
 * Afterwards a process that dies is replaced.
 */
function serveCluster(processes: number): void {
  serveMetrics();
  let up = false;
  let stopping = false;
  const children = () => Object.values(cluster.workers ?? {}).filter((child) => child !== undefined);

  cluster.on("listening", () => {
    if (up) return;
    up = true;
    for (let n = 1; n < processes; n += 1) cluster.fork();
    announceUp();
  });
  cluster.on("exit", (_child, code, signal) => {
    if (stopping) return;
    if (!up) process.exit(code || 1);
    log.error({ code, signal }, "an API process died and is replaced");
    setTimeout(() => {
      if (!stopping) cluster.fork();
    }, replaceAfterMs);
  });
  cluster.fork();

  process.on("exit", () => {
    for (const child of children()) child.process.kill("SIGKILL");
  });
  onStop(async () => {
    stopping = true;
    const gone = children().map((child) => once(child, "exit"));
    for (const child of children()) child.process.kill("SIGTERM");
    await Promise.all(gone);
  });
}

exitOnUncaught();
if (cluster.isPrimary) logWarnings();
if (config.WEB_CONCURRENCY > 1 && cluster.isPrimary) {
  serveCluster(config.WEB_CONCURRENCY);
} else {
  if (cluster.isWorker) joinMetrics();
  await serve();
}
