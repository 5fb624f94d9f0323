import { Router } from "express";
import { describeError } from "../../lib/process/describe-error.js";
import { ApiError } from "../../lib/process/errors.js";
import { files } from "../../lib/storage/file-store.js";
import { log } from "../../lib/process/log.js";
import { mayReadMetrics } from "../../lib/security/metrics-token.js";
import { withTimeout } from "../../lib/process/with-timeout.js";
import { version } from "../../lib/process/version.js";
import { pingBroker } from "../../queues/broker.js";
import { pingDatabase, sql } from "../../sql/db.js";
import { pendingMigrations } from "../../sql/migrate.js";
import { registry } from "../http/registry.js";
import { metricsText } from "./metrics.js";

let stopping = false;

/** Makes /readyz answer 503 from now on, so that a load balancer sends no more requests here. */
export function stopBeingReady(): void {
  stopping = true;
}

type Check = "ok" | "unreachable" | "behind";

/** Whoever asks for readiness does not wait long for the answer. */
const checkLimitMs = 2_000;

const check = (answer: Promise<Check>): Promise<Check> =>
  withTimeout(checkLimitMs, answer).catch(() => "unreachable" as const);

const ok = () => "ok" as const;
const migrated = (pending: string[]) => (pending.length === 0 ? "ok" : "behind");

/** Logs what keeps this process from serving: a wrong database is no reason to end, as it may be right in a moment. */
export async function complainOfDatabase(): Promise<void> {
  try {
    const pending = await pendingMigrations(sql);
    if (pending.length > 0)
      log.error({ pending }, "migrations are missing: this process is not ready until they are applied");
  } catch (error) {
    log.error({ error: describeError(error) }, "DATABASE_URL cannot be used: this process is not ready until it can");
  }
}

/** Logs that files cannot be kept: no reason not to serve, as most requests have nothing to do with files. */
export async function complainOfStorage(): Promise<void> {
  try {
    await files.check();
  } catch (error) {
    log.error({ err: error }, "storage cannot be used: no file can be uploaded or shown until it can");
  }
}

export const health = Router();

health.get("/healthz", (_request, response) => {
  response.json({ status: "ok", version });
});

/**
 * Ready means: this process can take requests. A queue that is out of reach is reported but does not make it unready:
 * requests only stage their jobs in Postgres, and orders must go on being taken while Redis is away.
 */
health.get("/readyz", async (_request, response) => {
  const [postgres, migrations, queue] = await Promise.all([
    check(pingDatabase().then(ok)),
    check(pendingMigrations(sql).then(migrated)),
    check(pingBroker().then(ok)),
  ]);
  const ready = !stopping && postgres === "ok" && migrations === "ok";
  response
    .status(ready ? 200 : 503)
    .set("Cache-Control", "no-store")
    .json({ status: stopping ? "stopping" : ready ? "ready" : "not ready", postgres, migrations, queue });
});

health.get("/metrics", async (request, response) => {
  if (!mayReadMetrics(request.headers.authorization))
    throw new ApiError(401, "UNAUTHORIZED", "Metrics need their own bearer token.");
  response.type(registry.contentType).send(await metricsText());
});
