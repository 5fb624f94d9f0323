import cluster from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:http";
import { config } from "../lib/config.js";
import { describeError } from "../lib/describe-error.js";
import { log } from "../lib/log.js";
import { closeBroker } from "../queues/broker.js";
import { closeDatabase } from "../sql/db.js";
import { closeSignals } from "../sql/signals.js";
import { app } from "./app.js";
import { stopBeingReady } from "./health.js";
import { joinMetrics, serveMetrics } from "./metrics.js";

/** What still runs when stopping gets this long to finish. */
const stopLimitMs = 15_000;

function exitWithLine(line: string): never {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

/** The first signal stops in order, the second at once. */
function onStop(stop: () => Promise<void>): void {
  let stopping = false;
  const handle = () => {
    if (stopping) process.exit(1);
    stopping = true;
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ error: describeError(error) }, "could not stop in order");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", handle);
  process.on("SIGINT", handle);
  // Started by a process that is gone (`npm start` killed hard): nobody would stop this one.
  process.on("disconnect", handle);
}

/** A process in an unknown state takes no further requests: whatever supervises it starts a new one. */
process.on("uncaughtException", (error) => {
  log.fatal({ error: describeError(error) }, "uncaught exception: this process ends");
  process.exit(1);
});

async function serve(): Promise<void> {
  const server = createServer({ requestTimeout: 60_000, headersTimeout: 20_000, keepAliveTimeout: 65_000 }, app);
  server.once("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EADDRINUSE") exitWithLine(`PORT ${config.PORT} is in use by another program.`);
    if (error.code === "EACCES") exitWithLine(`PORT ${config.PORT} may not be used by this user.`);
    exitWithLine(`The API cannot listen on ${config.HOST}:${config.PORT}: ${describeError(error)}`);
  });
  server.listen(config.PORT, config.HOST);
  await once(server, "listening");
  const address = server.address();
  log.info({ port: typeof address === "object" ? address?.port : address }, "the API listens");
  process.send?.({ listening: typeof address === "object" ? address?.port : null });

  onStop(async () => {
    stopBeingReady();
    const closed = once(server, "close");
    server.close();
    server.closeIdleConnections();
    const limit = setTimeout(() => server.closeAllConnections(), stopLimitMs);
    await closed;
    clearTimeout(limit);
    await Promise.all([closeSignals(), closeBroker()]);
    await closeDatabase();
    log.info("the API has stopped");
  });
}

/** Several processes share the port; one that dies is replaced, unless it never got as far as listening. */
function serveCluster(processes: number): void {
  serveMetrics();
  let stopping = false;
  for (let n = 0; n < processes; n += 1) cluster.fork();
  cluster.on("exit", (worker, code) => {
    if (stopping) return;
    if (!listening.has(worker.id)) process.exit(code || 1);
    log.error({ code }, "an API process died: another one takes its place");
    cluster.fork();
  });
  const listening = new Set<number>();
  cluster.on("listening", (worker) => listening.add(worker.id));
  onStop(async () => {
    stopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(
      workers.map(async (worker) => {
        const exited = once(worker, "exit");
        worker.process.kill("SIGTERM");
        await exited;
      }),
    );
  });
}

if (config.WEB_CONCURRENCY > 1 && cluster.isPrimary) {
  serveCluster(config.WEB_CONCURRENCY);
} else {
  if (cluster.isWorker) joinMetrics();
  await serve();
}
