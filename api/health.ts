import { timingSafeEqual } from "node:crypto";
import { Router, type Request } from "express";
import { config } from "../lib/config.js";
import { ApiError } from "../lib/errors.js";
import { pingBroker } from "../queues/broker.js";
import { pingDatabase, sql } from "../sql/db.js";
import { pendingMigrations } from "../sql/migrate.js";
import { metricsText, registry } from "./metrics.js";

let stopping = false;

/** Makes /readyz answer 503 from now on, so that a load balancer sends no more requests here. */
export function stopBeingReady(): void {
  stopping = true;
}

type Check = "ok" | "unreachable" | "behind";

const reachable = (ping: Promise<unknown>): Promise<Check> =>
  ping.then(
    () => "ok" as const,
    () => "unreachable" as const,
  );

const migrated = (): Promise<Check> =>
  pendingMigrations(sql).then(
    (pending) => (pending.length === 0 ? "ok" : "behind"),
    () => "unreachable" as const,
  );

function mayReadMetrics(request: Request): boolean {
  if (config.METRICS_TOKEN === undefined) return true;
  const expected = Buffer.from(`Bearer ${config.METRICS_TOKEN}`);
  const given = Buffer.from(request.headers.authorization ?? "");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

export const health = Router();

health.get("/healthz", (_request, response) => {
  response.json({ status: "ok" });
});

/**
 * Ready means: this process can take requests. A queue that is out of reach is reported but does not make it unready:
 * requests only stage their jobs in Postgres, and orders must go on being taken while Redis is away.
 */
health.get("/readyz", async (_request, response) => {
  const [postgres, migrations, queue] = await Promise.all([
    reachable(pingDatabase()),
    migrated(),
    reachable(pingBroker()),
  ]);
  const ready = !stopping && postgres === "ok" && migrations === "ok";
  response
    .status(ready ? 200 : 503)
    .set("Cache-Control", "no-store")
    .json({ status: stopping ? "stopping" : ready ? "ready" : "not ready", postgres, migrations, queue });
});

health.get("/metrics", async (request, response) => {
  if (!mayReadMetrics(request)) throw new ApiError(401, "UNAUTHORIZED", "Metrics need their own bearer token.");
  response.type(registry.contentType).send(await metricsText());
});
