import { Router } from "express";
import { describeError } from "../../lib/process/describe-error.js";
import { wantsExemplars, type Exposition } from "../../lib/process/exemplars.js";
import { log } from "../../lib/process/log.js";
import { mayReadMetrics } from "../../lib/security/metrics-token.js";
import { withTimeout } from "../../lib/process/with-timeout.js";
import { version } from "../../lib/process/version.js";
import { NodeOfCluster } from "../../queues/connections.js";
import { pingDatabase, sql } from "../../sql/db.js";
import { pendingMigrations } from "../../sql/migrations.js";
import { refusal } from "../http/refusal.js";
import { ShortCache } from "../http/short-cache.js";
import { loadBroker } from "./broker.js";
import { readMetrics } from "./metrics.js";

const metricsTokenMissing = refusal(
  401,
  "UNAUTHORIZED",
  "METRICS_TOKEN_MISSING",
  "Metrics need the token of METRICS_TOKEN as a bearer token.",
  "Send `Authorization: Bearer` with the token of `METRICS_TOKEN`.",
);

let stopping = false;

/** Makes /readyz answer 503 from now on, so that load balancers send no more requests. */
export function markUnready(): void {
  stopping = true;
}

type Check = "ok" | "unreachable" | "behind";

/** Keeps /readyz fast when a dependency does not answer. */
const checkLimitMs = 2_000;

const check = <Found extends string>(answer: Promise<Found>): Promise<Found | "unreachable"> =>
  withTimeout(checkLimitMs, answer).catch(() => "unreachable" as const);

const ok = () => "ok" as const;
const migrated = (pending: string[]) => (pending.length === 0 ? "ok" : "behind");

/** Logs why the database keeps this process from serving. The process goes on, as the database may soon be ready. */
export async function logDatabaseProblems(): Promise<void> {
  try {
    await pingDatabase();
    const pending = await pendingMigrations(sql);
    if (pending.length > 0)
      log.error({ pending }, "migrations are pending: this process is not ready until they are applied");
  } catch (error) {
    log.error({ error: describeError(error) }, "DATABASE_URL cannot be used: this process is not ready until it can");
  }
}

/** Anyone may ask, and an answer takes several statements. */
const KEPT_MS = 1_000;

interface Dependencies {
  postgres: Check;
  migrations: Check;
  /** As the others, or in words what is wrong with the configuration. */
  queue: string;
}

let reported = false;

/** What the broker cannot mend is shown as it is, and logged once: the process goes on, as it only stages jobs. */
function misconfigured(error: unknown): string {
  if (!(error instanceof NodeOfCluster)) throw error;
  if (!reported) log.error({ error: error.message }, "no worker can use the broker");
  reported = true;
  return error.message;
}

async function checkDependencies(): Promise<Dependencies> {
  const { pingBroker } = await loadBroker();
  const [postgres, migrations, queue] = await Promise.all([
    check(pingDatabase().then(ok)),
    check(pendingMigrations(sql).then(migrated)),
    check(pingBroker().then(ok, misconfigured)),
  ]);
  return { postgres, migrations, queue };
}

const dependencies = new ShortCache<Dependencies>(KEPT_MS, 1);
const metrics = new ShortCache<Exposition>(KEPT_MS, 2);

export const health = Router();

health.get("/healthz", (_request, response) => {
  response.json({ status: "ok", version });
});

/**
 * Ready means that this process can take requests. An unreachable queue is reported but does not make it unready:
 * requests only stage their jobs in Postgres, and orders are taken while Redis is down.
 */
health.get("/readyz", async (_request, response) => {
  const { postgres, migrations, queue } = await dependencies.get("", checkDependencies);
  const ready = !stopping && postgres === "ok" && migrations === "ok";
  response
    .status(ready ? 200 : 503)
    .set("Cache-Control", "no-store")
    .json({ status: stopping ? "stopping" : ready ? "ready" : "not ready", postgres, migrations, queue });
});

health.get("/metrics", async (request, response) => {
  if (!mayReadMetrics(request.headers.authorization)) throw metricsTokenMissing();
  const exemplars = wantsExemplars(request.headers.accept);
  const { type, text } = await metrics.get(String(exemplars), () => readMetrics(exemplars));
  response.type(type).send(text);
});
