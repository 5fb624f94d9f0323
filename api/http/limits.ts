import type { Request, Response } from "express";
import { config } from "../../lib/process/config.js";
import { ApiError } from "../../lib/process/errors.js";
import { clientNetwork } from "./client-network.js";
import { SharedCounters, windowMs } from "./shared-counters.js";

const counters = new SharedCounters();

/** A limit of one endpoint, per client address, that replaces the general limits. */
export interface EndpointLimit {
  name: string;
  perMinute: number;
}

/**
 * Counts a request per user, or per client address when it has no valid token or the endpoint has its own limit, and
 * sets the RateLimit headers. Throws 429 RATE_LIMIT past the limit.
 */
export function limitRequests(request: Request, response: Response, userId: string | null, own?: EndpointLimit): void {
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

/** Counts a costly action per user, apart from the request itself; throws 429 RATE_LIMIT past `perMinute` of that name. */
export function limitActions(name: string, userId: string, perMinute: number): void {
  if (config.RATE_LIMIT_DISABLED) return;
  const { totalHits, resetAt } = counters.increment(`${name} user ${userId}`);
  if (totalHits > perMinute) throw tooMany(Math.ceil((resetAt - Date.now()) / 1_000));
}

const tooMany = (retryAfterSeconds: number) =>
  new ApiError(429, "RATE_LIMIT", "Too many requests; slow down.", { retryAfterSeconds });
