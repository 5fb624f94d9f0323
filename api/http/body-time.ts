import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import { config } from "../../lib/process/config.js";
import { sendProblem } from "./errors.js";
import { requestTooSlow } from "./refusals.js";

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/**
 * Ends a request whose body has not arrived within BODY_SECONDS, answered or not: a client that sends a byte now and then
 * would keep its connection.
 */
export const limitBodyTime: RequestHandler = (request, response, next) => {
  const { "transfer-encoding": encoding, "content-length": length = "0" } = request.headers;
  if (encoding !== undefined || length !== "0") {
    const end = () => {
      if (request.complete) return;
      if (response.headersSent) request.socket.destroy();
      else sendProblem(request, response.set("Connection", "close"), requestTooSlow());
    };
    const timer = setTimeout(end, config.BODY_SECONDS * 1_000).unref();
    timers.set(request, timer);
    request.once("close", () => clearTimeout(timer));
  }
  next();
};

/** Gives the body of a request as long as the server allows at all: it is a file, and its sender may upload one. */
export const allowSlowBody = (request: IncomingMessage): void => clearTimeout(timers.get(request));
