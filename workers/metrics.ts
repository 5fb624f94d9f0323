import { createServer, type Server } from "node:http";
import { collectDefaultMetrics, Counter, Registry } from "prom-client";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { expositionOf, histogram, wantsExemplars } from "../lib/process/exemplars.js";
import { exitWithLine } from "../lib/process/lifecycle.js";
import { version } from "../lib/process/version.js";
import { mayReadMetrics } from "../lib/security/metrics-token.js";

/** `skipped`: completed by another run; `failed`: to be retried; `dead`: given up. */
export type Outcome = "done" | "skipped" | "snoozed" | "failed" | "dead";

export const registry = new Registry();

collectDefaultMetrics({ register: registry });

export const observeJob = histogram({
  name: "job_duration_seconds",
  help: "How long jobs ran, by queue and outcome",
  labelNames: ["queue", "outcome"],
  buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300],
  registers: [registry],
});

/** From what is answered well to what an operator asks about. */
const waitBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export const observeOrderPush = histogram({
  name: "order_push_seconds",
  help: "From an order to the moment when a push service has accepted a message about it; without those that waited for the end of quiet hours",
  buckets: waitBuckets,
  registers: [registry],
});

export const observePosEvent = histogram({
  name: "pos_event_apply_seconds",
  help: "From the webhook of a POS to the moment when its event is applied; without those that an operator replayed",
  buckets: waitBuckets,
  registers: [registry],
});

/** `unauthorized` needs an operator: the key or configuration is wrong. The service `others` are servers that clients have set up. */
export const pushMessages = new Counter({
  name: "push_messages_total",
  help: "Messages to devices, by push service and outcome",
  labelNames: ["service", "result"],
  registers: [registry],
});

// a first failure is seen as an increase
for (const service of ["fcm", "web-push", "others"])
  for (const result of ["sent", "later", "unknown", "unauthorized", "refused", "gone", "busy"])
    pushMessages.inc({ service, result }, 0);

/**
 * Serves `/metrics` (guarded like the API's) and `/healthz`, which is 503 once `stopping` is aborted. Ends the process with
 * one line when it cannot listen.
 */
export function serveMetrics(port: number, stopping: AbortSignal): Server {
  const server = createServer((request, response) => {
    if (request.url === "/healthz") {
      response
        .writeHead(stopping.aborted ? 503 : 200, { "content-type": "application/json" })
        .end(JSON.stringify({ status: stopping.aborted ? "stopping" : "ok", version }));
    } else if (request.url !== "/metrics") {
      response.writeHead(404).end();
    } else if (!mayReadMetrics(request.headers.authorization)) {
      response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    } else {
      expositionOf(registry, wantsExemplars(request.headers.accept)).then(
        ({ type, text }) => response.writeHead(200, { "content-type": type }).end(text),
        () => response.writeHead(500).end(),
      );
    }
  });
  server.once("error", (error) =>
    exitWithLine(`The worker cannot serve its metrics on WORKER_METRICS_PORT ${port}: ${describeError(error)}`),
  );
  return server.listen(port, config.HOST);
}
