import type { Request, Response } from "express";
import { ipKeyGenerator, rateLimit, type ClientRateLimitInfo, type Store } from "express-rate-limit";
import { config } from "../lib/config.js";
import { ApiError } from "../lib/errors.js";
import { log } from "../lib/log.js";
import { sql } from "../sql/db.js";
import { addRateHits } from "../sql/queries/rate-counters.js";

const windowMs = 60_000;
const exchangeMs = 1_000;
const maxKeys = 100_000;

interface Counter {
  total: number;
  unsent: number;
}

/**
 * Counts requests per key and minute in memory and exchanges the counts with the other processes through Postgres once
 * a second: no round trip per request, and a limit is overrun by at most a second's worth. While Postgres is away each
 * process goes on with its own counts.
 */
class SharedCounters implements Store {
  localKeys = false;
  #windowStart = 0;
  #counters = new Map<string, Counter>();
  #exchange: NodeJS.Timeout | null = null;

  increment(key: string): ClientRateLimitInfo {
    const windowStart = Math.floor(Date.now() / windowMs) * windowMs;
    if (windowStart !== this.#windowStart) {
      this.#windowStart = windowStart;
      this.#counters = new Map();
    }
    const counter = this.#counterOf(key);
    counter.total += 1;
    counter.unsent += 1;
    this.#exchange ??= setTimeout(() => void this.#exchangeCounts(), exchangeMs).unref();
    return { totalHits: counter.total, resetTime: new Date(windowStart + windowMs) };
  }

  decrement(key: string): void {
    const counter = this.#counters.get(key);
    if (counter) counter.total -= 1;
  }

  resetKey(key: string): void {
    this.#counters.delete(key);
  }

  /** Past the bound all further keys share one counter: memory stays flat under a flood of addresses. */
  #counterOf(key: string): Counter {
    const bounded = this.#counters.has(key) || this.#counters.size < maxKeys ? key : "others";
    let counter = this.#counters.get(bounded);
    if (!counter) this.#counters.set(bounded, (counter = { total: 0, unsent: 0 }));
    return counter;
  }

  async #exchangeCounts(): Promise<void> {
    const counters = this.#counters;
    const sent = [...counters]
      .filter(([, counter]) => counter.unsent > 0)
      .map(([key, counter]) => ({ key, hits: counter.unsent }));
    try {
      const rows = await addRateHits(
        sql,
        new Date(this.#windowStart),
        sent.map(({ key }) => key),
        sent.map(({ hits }) => hits),
      );
      for (const { key, hits } of sent) {
        const counter = counters.get(key);
        if (counter) counter.unsent -= hits;
      }
      for (const { key, hits } of rows) {
        const counter = counters.get(key);
        if (counter) counter.total = hits + counter.unsent;
      }
    } catch (error) {
      log.warn({ err: error }, "rate limits are counted by this process alone: the shared counters are out of reach");
    } finally {
      this.#exchange = null;
    }
  }
}

const counters = new SharedCounters();

const limiter = (limit: number, keyOf: (request: Request, response: Response) => string) =>
  rateLimit({
    windowMs,
    limit,
    store: counters,
    standardHeaders: "draft-7",
    legacyHeaders: false,
    keyGenerator: keyOf,
    validate: false,
    handler: (_request, response, next) => {
      const retryAfterSeconds = Number(response.getHeader("Retry-After") ?? windowMs / 1_000);
      next(new ApiError(429, "RATE_LIMIT", "Too many requests; slow down.", { retryAfterSeconds }));
    },
  });

const limitUser = limiter(config.RATE_LIMIT_USER, (_request, response) => `user ${String(response.locals["userId"])}`);
const limitAddress = limiter(config.RATE_LIMIT_ADDRESS, (request) => `address ${ipKeyGenerator(request.ip ?? "")}`);

/** Counts the request against its user, or against its address when it has no token; throws 429 RATE_LIMIT past the limit. */
export async function limitRequests(request: Request, response: Response, userId: string | null): Promise<void> {
  if (config.RATE_LIMIT_DISABLED) return;
  response.locals["userId"] = userId;
  const limit = userId === null ? limitAddress : limitUser;
  await new Promise<void>((resolve, reject) => {
    const next = (error?: unknown) =>
      error === undefined ? resolve() : reject(error instanceof Error ? error : new Error(String(error)));
    void Promise.resolve(limit(request, response, next)).catch(reject);
  });
}
