import type { Request, Response } from "express";
import { config } from "../../lib/process/config.js";
import { ApiError } from "../../lib/process/errors.js";
import { clientNetwork } from "./client-network.js";
import { SharedCounters, windowMs } from "./shared-counters.js";

const counters = new SharedCounters();

/** A limit of an endpoint's own: per address, whoever calls from there, and in place of the general ones. */
export interface OwnLimit {
  name: string;
  perMinute: number;
}

/**
 * Counts the request against its user, or against its address when it has no valid token or the endpoint has a limit of
 * its own, and tells how many are left; throws 429 RATE_LIMIT past the limit.
 */
export function limitRequests(request: Request, response: Response, userId: string | null, own?: OwnLimit): void {
  if (config.RATE_LIMIT_DISABLED) return;
  const address = () => clientNetwork(request.ip ?? "", 56);
  const [key, limit] = own
    ? [`${own.name} ${address()}`, own.perMinute]
    : userId === null
      ? [`address ${address()}`, config.RATE_LIMIT_ADDRESS]
      : [`user ${userId}`, config.RATE_LIMIT_USER];
  const { totalHits, resetAt } = counters.increment(key);
  const remaining = Math.max(limit - totalHits, 0);
  const secondsLeft = Math.ceil((resetAt - Date.now()) / 1_000);
  response.setHeader("RateLimit-Policy", `${limit};w=${windowMs / 1_000}`);
  response.setHeader("RateLimit", `limit=${limit}, remaining=${remaining}, reset=${secondsLeft}`);
  if (totalHits > limit) throw tooMany(secondsLeft);
}

/** Counts what a request causes against its user, beside the request itself; throws 429 RATE_LIMIT past so many of that name a minute. */
export function limitActs(name: string, userId: string, perMinute: number): void {
  if (config.RATE_LIMIT_DISABLED) return;
  const { totalHits, resetAt } = counters.increment(`${name} user ${userId}`);
  if (totalHits > perMinute) throw tooMany(Math.ceil((resetAt - Date.now()) / 1_000));
}

const tooMany = (retryAfterSeconds: number) =>
  new ApiError(429, "RATE_LIMIT", "Too many requests; slow down.", { retryAfterSeconds });
