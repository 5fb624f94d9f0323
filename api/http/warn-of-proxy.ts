import type { RequestHandler } from "express";
import { log } from "../../lib/process/log.js";

let warned = false;

/** Warns at a process's first request that names another client's address, which TRUST_PROXY=0 ignores. */
export const warnOfProxy: RequestHandler = (request, _response, next) => {
  if (!warned && request.headers["x-forwarded-for"] !== undefined) {
    warned = true;
    log.warn(
      "requests have X-Forwarded-For and TRUST_PROXY is 0: behind a proxy all clients would share the limits of its address",
    );
  }
  next();
};
