import type { Request, Response } from "express";
import { ipKeyGenerator } from "express-rate-limit";
import { config } from "../lib/config.js";
import { ApiError } from "../lib/errors.js";
import { SharedCounters, windowMs } from "./shared-counters.js";

const counters = new SharedCounters();

/**
 * Counts the request against its user, or against its address when it has no valid token, and tells how many are left;
 * throws 429 RATE_LIMIT past the limit.
 */
export function limitRequests(request: Request, response: Response, userId: string | null): void {
  if (config.RATE_LIMIT_DISABLED) return;
  const limit = userId === null ? config.RATE_LIMIT_ADDRESS : config.RATE_LIMIT_USER;
  const key = userId === null ? `address ${ipKeyGenerator(request.ip ?? "")}` : `user ${userId}`;
  const { totalHits, resetAt } = counters.increment(key);
  const remaining = Math.max(limit - totalHits, 0);
  const secondsLeft = Math.ceil((resetAt - Date.now()) / 1_000);
  response.setHeader("RateLimit-Policy", `${limit};w=${windowMs / 1_000}`);
  response.setHeader("RateLimit", `limit=${limit}, remaining=${remaining}, reset=${secondsLeft}`);
  if (totalHits > limit) {
    throw new ApiError(429, "RATE_LIMIT", "Too many requests; slow down.", { retryAfterSeconds: secondsLeft });
  }
}
