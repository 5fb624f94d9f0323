import type { Request, RequestHandler, Response } from "express";
import { ipKeyGenerator, rateLimit } from "express-rate-limit";
import { config } from "../lib/config.js";
import { ApiError } from "../lib/errors.js";
import { runMiddleware } from "./middleware.js";
import { SharedCounters, windowMs } from "./shared-counters.js";

const counters = new SharedCounters();

const limiter = (limit: number, keyOf: (request: Request, response: Response) => string): RequestHandler =>
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

/** Counts the request against its user, or against its address when it has no valid token; throws 429 RATE_LIMIT past the limit. */
export async function limitRequests(request: Request, response: Response, userId: string | null): Promise<void> {
  if (config.RATE_LIMIT_DISABLED) return;
  response.locals["userId"] = userId;
  await runMiddleware(userId === null ? limitAddress : limitUser, request, response);
}
