import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { ErrorRequestHandler, Request, Response } from "express";
import { z } from "zod";
import { describeError, describeErrorWithStack } from "../../lib/process/describe-error.js";
import { ApiError, unavailable, type ErrorCode, type FieldError } from "../../lib/process/errors.js";
import { log } from "../../lib/process/log.js";
import { StorageUnavailable } from "../../lib/storage/storage.js";
import { faultOf, type Fault } from "../../sql/db.js";
import { safetyHeaders } from "./safety-headers.js";

/** The shape of every error response (RFC 9457); further members depend on the code. */
export const Problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    requestId: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    retryAfterSeconds: z.number().optional(),
  })
  .meta({
    id: "Problem",
    description: "An error, as application/problem+json; programs decide by `code`.",
  });

const titles: Record<number, string> = {
  400: "Bad request",
  401: "Not authenticated",
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  409: "Conflict",
  408: "Request timeout",
  413: "Too large",
  429: "Too many requests",
  431: "Request header fields too large",
  500: "Internal error",
  503: "Unavailable",
};

/** Returns the 400 that names every invalid field. */
export function invalidFields(code: ErrorCode, errors: readonly FieldError[]): ApiError {
  const named = errors.map(({ path, message }) => `${path || "body"}: ${message}`).join("; ");
  return new ApiError(400, code, named.slice(0, 1_000), { errors: errors.slice(0, 100) });
}

/** Turns the issues of a failed parse into the 400 that names every invalid field. */
export const invalidInput = (code: ErrorCode, where: string, error: z.ZodError): ApiError =>
  invalidFields(
    code,
    error.issues.map((issue) => ({
      path: [where, ...issue.path.map(String)].filter(Boolean).join("."),
      message: issue.message,
    })),
  );

/** The properties of errors from http-errors (Express, its body parser). */
const HttpError = z.object({ status: z.int().min(400).max(499), type: z.string().optional() });

/** What a request is answered when the database fails. */
const databaseProblems: Record<Fault, () => ApiError | null> = {
  unreachable: () => unavailable("The database is not reachable; try again shortly."),
  overloaded: () => unavailable("The database is overloaded; try again shortly."),
  contended: () => unavailable("Other requests are changing the same data; try again shortly."),
  timeout: () => unavailable("The database took too long; try again shortly."),
  "bad value": () => new ApiError(400, "BAD_REQUEST", "A value is out of range."),
  other: () => null,
};

function asApiError(error: unknown): ApiError | null {
  if (error instanceof ApiError) return error;
  const fault = faultOf(error);
  if (fault) return databaseProblems[fault]();
  if (error instanceof StorageUnavailable)
    return unavailable("The file storage is not reachable; try again shortly.", 30);
  const http = HttpError.safeParse(error);
  if (!http.success) return null;
  if (http.data.status === 413)
    return new ApiError(413, "PAYLOAD_TOO_LARGE", "The body is larger than this endpoint accepts.");
  if (http.data.type === "entity.parse.failed") return new ApiError(400, "BAD_REQUEST", "The body is not valid JSON.");
  return new ApiError(400, "BAD_REQUEST", "The request could not be read.");
}

const problemOf = ({ status, code, message, members }: ApiError, requestId: string): z.output<typeof Problem> => ({
  type: "about:blank",
  title: titles[status] ?? "Error",
  status,
  detail: message,
  code,
  requestId,
  ...members,
});

const overloadLogMs = 1_000;
let overloadLogAt = 0;
let overloaded = 0;

/** Logs requests that are refused because too many came at once: their log would be one more load. */
function logOverload(error: unknown): void {
  overloaded += 1;
  if (performance.now() < overloadLogAt) return;
  log.error({ error: describeError(error), requests: overloaded }, "requests were refused: the database is overloaded");
  overloadLogAt = performance.now() + overloadLogMs;
  overloaded = 0;
}

/** Sends the problem document of `error`; an unexpected error becomes a 500 without details. */
export function sendProblem(request: Request, response: Response, error: unknown): void {
  const requestId = String(response.getHeader("x-request-id"));
  const known = asApiError(error);
  if (faultOf(error) === "overloaded") logOverload(error);
  else if (known === null || known.status >= 500) {
    const route: unknown = response.locals["route"];
    log.error({ error: describeErrorWithStack(error), requestId, method: request.method, route }, "request failed");
  }
  const answer = known ?? new ApiError(500, "INTERNAL", "Internal error; quote the request id when you report it.");
  // for the request's line in the log
  Object.assign(response.locals, { code: answer.code, reason: answer.members["reason"] });
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, members } = answer;
  const { retryAfterSeconds } = members;
  if (typeof retryAfterSeconds === "number") response.setHeader("Retry-After", retryAfterSeconds);
  if (status === 401) response.setHeader("WWW-Authenticate", "Bearer");
  // Express's `send` takes longer than all else here
  response.statusCode = status;
  response.setHeader("Content-Type", "application/problem+json; charset=utf-8");
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
  const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const problem = problemOf(new ApiError(status, "BAD_REQUEST", "The request could not be read."), randomUUID());
  const body = JSON.stringify(problem);
  log.info({ requestId: problem.requestId, status, code: problem.code }, "request");
  socket.end(
    [
      `HTTP/1.1 ${status} ${problem.title}`,
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
