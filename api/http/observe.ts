import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import { histogram } from "../../lib/process/exemplars.js";
import { log, logsSuccess } from "../../lib/process/log.js";
import { startSpan, within } from "../../lib/process/traces.js";
import { overloaded } from "./refusals.js";
import { registry } from "./registry.js";

const observeDuration = histogram({
  name: "http_request_duration_seconds",
  help: "Duration of requests, by method, declared path and status.",
  labelNames: ["method", "route", "status"],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.3, 0.5, 1, 2.5, 10],
  registers: [registry],
});

/** The declared path: `locals.route` where a router sets it, because an error handler no longer sees the router. */
function routeOf(request: Request, { locals }: Response): string {
  const named: unknown = locals["route"];
  if (typeof named === "string") return named;
  const route: unknown = request.route;
  return typeof route === "object" && route !== null && "path" in route ? request.baseUrl + String(route.path) : "none";
}

/** A fact that a handler or the error handler noted of the request. */
function noted({ locals }: Response, name: "userId" | "code" | "reason"): string | undefined {
  const fact: unknown = locals[name];
  return typeof fact === "string" ? fact : undefined;
}

/** What probes and scrapers ask for, every few seconds. */
const probes: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

function levelOf(route: string, status: number): "debug" | "info" | "warn" {
  if (status >= 500) return "warn";
  return status < 400 && probes.has(route) ? "debug" : "info";
}

/** Returns the client's own id for a request when it is safe to log, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

/** The event of a response that stays open as a stream: for measures and logs its request has ended. */
export const STREAM_BEGUN = "stream begun";

/**
 * Gives every request its id and its span, and measures and logs it at its end, in one line. The label is the declared path, so it
 * holds no ids.
 */
export const observe: RequestHandler = (request, response, next) => {
  const start = performance.now();
  const requestId = requestIdOf(request);
  response.setHeader("X-Request-Id", requestId);
  const { traceparent } = request.headers;
  const span = probes.has(request.path)
    ? undefined
    : startSpan(request.method, {
        kind: "server",
        parent: typeof traceparent === "string" ? traceparent : null,
        attributes: { "http.request.method": request.method, "request.id": requestId },
      });
  let hasEnded = false;
  const end = (isAnswered: boolean): void => {
    if (hasEnded) return;
    hasEnded = true;
    const reason = noted(response, "reason");
    // counted and logged together (overload.ts); it is quick, which says nothing about those that were taken
    if (reason === overloaded.reason) {
      span?.rename(`${request.method} ${routeOf(request, response)}`);
      span?.fail(reason);
      span?.end();
      return;
    }
    const ms = performance.now() - start;
    const { method } = request;
    const status = isAnswered ? response.statusCode : 499;
    const route = routeOf(request, response);
    observeDuration({ method, route, status }, ms / 1_000, span);
    const [userId, code] = [noted(response, "userId"), noted(response, "code")];
    span?.rename(`${method} ${route}`);
    span?.set({ "http.route": route, "http.response.status_code": status, "error.type": code });
    if (status >= 500) span?.fail(code ?? String(status));
    span?.end();
    const level = levelOf(route, status);
    if (!log.isLevelEnabled(level) || (status < 400 && !logsSuccess(requestId))) return;
    const facts = { requestId, method, route, status, code, reason, ms: Math.round(ms * 10) / 10, userId };
    within(span, () => log[level](facts, "request"));
  };
  response.once(STREAM_BEGUN, () => end(true));
  response.once("close", () => end(response.writableFinished));
  within(span, next);
};
