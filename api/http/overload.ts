import type { RequestListener } from "node:http";
import { Counter } from "prom-client";
import { config } from "../../lib/process/config.js";
import type { Declaration } from "./declaration.js";
import { logOverload } from "./errors.js";
import { requestIdOf } from "./observe.js";
import { problemOf } from "./refusal.js";
import { overloaded } from "./refusals.js";
import { registry } from "./registry.js";
import { safetyHeaders } from "./safety-headers.js";

const shed = new Counter({
  name: "http_requests_shed_total",
  help: "Requests that were refused at once because most requests of their endpoint took too long, by method and declared path.",
  labelNames: ["method", "route"],
  registers: [registry],
});

/** So few requests in progress are no queue: they keep the connections to Postgres busy. */
const NO_QUEUE = 4 * config.DATABASE_POOL;
/** So many of one caller count: what one caller asks for at once is no queue of others. */
const MOST_OF_ONE = Math.ceil(NO_QUEUE / 4);
/**
 * What takes longer has waited, as hardly anything takes so long by itself. Answers should come within a second, and until a
 * queue is noticed it grows: so it is a part of a second.
 */
const LONG_MS = 200;
/** How many of the requests that ended last say how long they take now. */
const LATELY = 32;
/** Requests that were taken are quick because others are refused: only that none was refused for a while shows that fewer come. */
const CALM_MS = 1_000;

/** Whether an endpoint waits for no upload, worker or third party: when all of its requests take long, too many come. */
export const worksByItself = ({ upload, waits }: Declaration): boolean => !upload && !waits;

/** Those whose path has no parameters, by method and path. */
const followed = new Map<string, { refuses(): boolean }>();

/**
 * Follows the requests of an endpoint, and tells when more come than can be answered in time: there is a queue, and most of those
 * that ended lately took long. That grows with every wait that they share, be it for the event loop, for a connection or in
 * Postgres. The first ones of a burst are quick; so are most while some wait for a lock.
 */
export function followRequests(method: string, route: string) {
  let running = 0;
  /** By caller, those that count. */
  const held = new Map<string, number>();
  /** Of those that ended lately, the share that took long. */
  let longShare = 0;
  let calmAt = 0;

  const requests = {
    /** Whether the next request is one too many, which is counted. */
    refuses(): boolean {
      if (running < NO_QUEUE) return false;
      const now = performance.now();
      if (longShare <= 0.5 && now >= calmAt) return false;
      calmAt = now + CALM_MS;
      shed.inc({ method, route });
      return true;
    },
    /** Takes a caller's request up; the returned function ends it, once. */
    enter(caller: string): () => void {
      const own = held.get(caller) ?? 0;
      if (own >= MOST_OF_ONE) return () => undefined;
      held.set(caller, own + 1);
      const start = performance.now();
      let ended = false;
      running += 1;
      return () => {
        if (ended) return;
        ended = true;
        running -= 1;
        const left = (held.get(caller) ?? 1) - 1;
        if (left > 0) held.set(caller, left);
        else held.delete(caller);
        const isLong = performance.now() - start >= LONG_MS;
        longShare = running === 0 ? 0 : longShare + (Number(isLong) - longShare) / LATELY;
      };
    },
  };
  if (!route.includes(":")) followed.set(`${method} ${route}`, requests);
  return requests;
}

const refusal = overloaded();

/**
 * Refuses requests that are too many before `listener` sees them, where their address says enough: through all of Express it would
 * take half as long again. Browsers need the headers that Express adds for them.
 */
export function refuseEarly(listener: RequestListener): RequestListener {
  return (request, response) => {
    const { method = "", url = "", headers } = request;
    const end = url.indexOf("?");
    const requests = followed.get(`${method} ${end < 0 ? url : url.slice(0, end)}`);
    if (headers.origin !== undefined || !requests?.refuses()) {
      listener(request, response);
      return;
    }
    logOverload(refusal);
    const requestId = requestIdOf(request);
    const body = JSON.stringify(problemOf(refusal, requestId));
    response.writeHead(refusal.status, {
      ...safetyHeaders,
      "X-Request-Id": requestId,
      "Retry-After": String(refusal.facts["retryAfterSeconds"]),
      "Content-Type": "application/problem+json; charset=utf-8",
      "Content-Length": Buffer.byteLength(body),
      "Cache-Control": "no-store",
    });
    response.end(body);
  };
}
