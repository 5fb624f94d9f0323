import cluster from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:http";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { withTimeout } from "../lib/process/with-timeout.js";
import { announceUp, exitOnUncaught, exitWithLine, onStop } from "../lib/process/lifecycle.js";
import { log } from "../lib/process/log.js";
import { version } from "../lib/process/version.js";
import { closeBroker } from "../queues/broker.js";
import { closeDatabase } from "../sql/db.js";
import { closeSignals } from "../sql/signals.js";
import { adCounters } from "./routes/ads/counters.js";
import { app } from "./app.js";
import { refuseUnreadable } from "./http/errors.js";
import { complainOfDatabase, complainOfStorage, stopBeingReady } from "./ops/health.js";
import { messagesOf } from "./http/messages.js";
import { joinMetrics, serveMetrics } from "./ops/metrics.js";

/** Requests that are being answered when the process is told to stop get this long to finish. */
const finishLimitMs = 14_000;
/** And what was counted last gets this long to be handed in. */
const flushLimitMs = 2_000;
const idleCheckMs = 50;
/** A process that dies again and again must not keep the machine busy with starting it. */
const replaceAfterMs = 500;

async function serve(): Promise<void> {
  // 10 MB over a slow mobile line take minutes
  const timeouts = { requestTimeout: 300_000, headersTimeout: 20_000, keepAliveTimeout: 65_000 };
  const server = createServer({ ...timeouts, ...messagesOf(app) }, app);
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
    "the API listens",
  );
  void complainOfDatabase();
  void complainOfStorage();
  announceUp();

  onStop(async () => {
    stopBeingReady();
    const closed = once(server, "close");
    server.close();
    // a connection that is kept alive is closed as soon as nothing is being answered on it
    server.prependListener("request", (_request, response) => response.setHeader("Connection", "close"));
    const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs);
    const limit = setTimeout(() => {
      log.warn("what is still being answered is cut short");
      server.closeAllConnections();
    }, finishLimitMs);
    await closed;
    clearInterval(idle);
    clearTimeout(limit);
    await withTimeout(flushLimitMs, adCounters.flush()).catch((error: unknown) =>
      log.warn({ error: describeError(error) }, "impressions and clicks that were counted last are lost"),
    );
    await Promise.all([closeSignals(), closeBroker()]);
    await closeDatabase();
  });
}

/**
 * Several processes share the port. The first one goes ahead, so that what keeps all of them from starting is told
 * once; from then on one that dies is replaced.
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
    log.error({ code, signal }, "an API process died: another one takes its place");
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
if (config.WEB_CONCURRENCY > 1 && cluster.isPrimary) {
  serveCluster(config.WEB_CONCURRENCY);
} else {
  if (cluster.isWorker) joinMetrics();
  await serve();
}
