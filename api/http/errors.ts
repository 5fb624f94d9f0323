import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { ErrorRequestHandler, Request, Response } from "express";
import { z } from "zod";
import { describeError, describeErrorWithStack } from "../../lib/process/describe-error.js";
import { ApiError, type FieldError } from "../../lib/process/errors.js";
import { log } from "../../lib/process/log.js";
import { StorageUnavailable } from "../../lib/storage/storage.js";
import { faultOf, type Fault } from "../../sql/db.js";
import { problemOf } from "./refusal.js";
import {
  bodyTooLarge,
  challengeOf,
  databaseContended,
  databaseOverloaded,
  databaseTooSlow,
  databaseUnreachable,
  headersTooLarge,
  internal,
  invalidFields,
  malformedParameter,
  notFound,
  notJson,
  outOfRange,
  overloaded,
  requestTooSlow,
  storageUnreachable,
  unreadable,
  type InvalidCode,
} from "./refusals.js";
import { safetyHeaders } from "./safety-headers.js";

const fieldErrors = (where: string, error: z.ZodError): FieldError[] =>
  error.issues.map((issue) => ({
    path: [where, ...issue.path.map(String)].filter(Boolean).join("."),
    message: issue.message,
  }));

/** Turns the issues of a failed parse into the 400 that names every invalid field. */
export const invalidInput = (code: InvalidCode, where: string, error: z.ZodError): ApiError =>
  invalidFields(code, fieldErrors(where, error));

/** Turns the issues of a path that could not be parsed into the 404 that names its first malformed parameter. */
export const invalidPath = (error: z.ZodError): ApiError => {
  const [first] = fieldErrors("", error);
  return first ? malformedParameter(first) : notFound("This address");
};

/** The properties of errors from http-errors (Express, its body parser). */
const HttpError = z.object({ status: z.int().min(400).max(499), type: z.string().optional() });

/** What a request is answered when the database fails. */
const databaseProblems: Record<Fault, () => ApiError | null> = {
  unreachable: databaseUnreachable,
  overloaded: databaseOverloaded,
  contended: databaseContended,
  timeout: databaseTooSlow,
  "bad value": () => outOfRange(),
  other: () => null,
};

function asApiError(error: unknown): ApiError | null {
  if (error instanceof ApiError) return error;
  const fault = faultOf(error);
  if (fault) return databaseProblems[fault]();
  if (error instanceof StorageUnavailable) return storageUnreachable();
  const http = HttpError.safeParse(error);
  if (!http.success) return null;
  if (http.data.status === 413) return bodyTooLarge();
  return http.data.type === "entity.parse.failed" ? notJson() : unreadable();
}

const overloadLogMs = 1_000;
let overloadLogAt = 0;
let refused = 0;

/** Logs requests that are refused because too many came at once: their log would be one more load. */
export function logOverload(error: unknown): void {
  refused += 1;
  if (performance.now() < overloadLogAt) return;
  log.error({ error: describeError(error), requests: refused }, "requests were refused: too many came at once");
  overloadLogAt = performance.now() + overloadLogMs;
  refused = 0;
}

/** Returns what `error` is answered with, and logs what is the service's fault; an unexpected error becomes a 500 without details. */
export function answerTo(request: Request, response: Response, error: unknown): ApiError {
  const requestId = String(response.getHeader("x-request-id"));
  const known = asApiError(error);
  if (known?.reason === overloaded.reason || known?.reason === databaseOverloaded.reason) logOverload(error);
  else if (known === null || known.status >= 500) {
    const route: unknown = response.locals["route"];
    log.error({ error: describeErrorWithStack(error), requestId, method: request.method, route }, "request failed");
  }
  const answer = known ?? internal();
  // for the request's line in the log
  Object.assign(response.locals, { code: answer.code, reason: answer.reason });
  return answer;
}

/** Sends the problem document of `error`. */
export function sendProblem(request: Request, response: Response, error: unknown): void {
  const requestId = String(response.getHeader("x-request-id"));
  const answer = answerTo(request, response, error);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, facts } = answer;
  const { retryAfterSeconds } = facts;
  if (typeof retryAfterSeconds === "number") response.setHeader("Retry-After", retryAfterSeconds);
  if (status === 401) response.setHeader("WWW-Authenticate", challengeOf(answer));
  // Express's `send` takes longer than all else here
  response.statusCode = status;
  response.setHeader("Content-Type", "application/problem+json; charset=utf-8");
  response.setHeader("Cache-Control", "no-store");
  response.end(JSON.stringify(problemOf(answer, requestId)));
}

// Express recognises an error handler by its four parameters.
export const handleError: ErrorRequestHandler = (error: unknown, request, response, _next) =>
  sendProblem(request, response, error);

/** Answers a request that Node cannot parse (broken HTTP, headers too large or too slow) and closes the connection. */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const refuse =
    error.code === "HPE_HEADER_OVERFLOW"
      ? headersTooLarge
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? requestTooSlow
        : unreadable;
  const problem = problemOf(refuse(), randomUUID());
  const body = JSON.stringify(problem);
  log.info(
    { requestId: problem.requestId, status: problem.status, code: problem.code, reason: problem.reason },
    "request",
  );
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${problem.title}`,
      "Content-Type: application/problem+json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${problem.requestId}`,
      ...Object.entries(safetyHeaders).map(([name, value]) => `${name}: ${value}`),
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
}
