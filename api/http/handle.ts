import type { Request, RequestHandler, Response } from "express";
import { z } from "zod";
import { config } from "../../lib/process/config.js";
import type { ApiError } from "../../lib/process/errors.js";
import { describeIssue } from "../../lib/process/input-errors.js";
import { sendJson, sendText } from "./answer.js";
import { authorize, identify, isOpen } from "./auth.js";
import { allowSlowBody } from "./body-time.js";
import { Call } from "./call.js";
import { columnsOf, sendCsv } from "./csv.js";
import type { Endpoint } from "./declaration.js";
import { invalidInput, invalidPath, sendProblem } from "./errors.js";
import { sendEventStream } from "./event-stream.js";
import { bodyReader, jsonOf } from "./json-body.js";
import { isSmall, limitChanges, limitLargeBodies, limitRequests, SMALL_BODY_BYTES } from "./limits.js";
import { followRequests, worksByItself } from "./overload.js";
import { overloaded } from "./refusals.js";
import { cacheControlOf } from "./shared-caches.js";
import { nameUnknownFields } from "./unknown-fields.js";

/** The largest body, and the largest where anyone may call, who sends a phone or a token there. */
const MAX_JSON_BYTES = 1_048_576;
const MAX_OPEN_JSON_BYTES = 4_096;

interface SomeAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

const noParameters = z.object({});

/**
 * Returns a function that parses values by a schema, or throws what `refuse` makes of the error. The schema is compiled with the first
 * value: a valid one then takes a microsecond instead of up to thirty, and most endpoints of a process are never called.
 */
function parserFor(schema: z.ZodType, refuse: (error: z.ZodError) => ApiError): (value: unknown) => unknown {
  let compiled: z.ZodType | undefined;
  return (value) => {
    compiled ??= z.compile(schema);
    const result = compiled.safeParse(value, { error: describeIssue });
    if (!result.success) throw refuse(result.error);
    return result.data;
  };
}

/** Returns a function that parses what an endpoint declares of a request, whose body has been read. */
function parserOf({ params, query, headers, body, invalid }: Endpoint) {
  const parserIn = (where: string, schema: z.ZodType) =>
    parserFor(schema, (error) => invalidInput(invalid, where, error));
  const parseParams = params && parserFor(params, invalidPath);
  const parseQuery = query && parserIn("query", query);
  const parseHeaders = headers && parserIn("headers", headers);
  const parseBody = body && parserIn("", body);
  const namesUnknown = config.NODE_ENV === "development";

  return (call: Call, request: Request, response: Response): void => {
    if (namesUnknown) nameUnknownFields(response, query ?? noParameters, request.query, "query");
    call.params = parseParams?.(request.params);
    // Express parses the query string on every access
    call.query = parseQuery?.(request.query);
    call.headers = parseHeaders?.(request.headers);
    if (parseBody) {
      const json = jsonOf(request.body);
      if (namesUnknown) nameUnknownFields(response, body, json);
      call.body = parseBody(json);
    }
  };
}

/** Returns a function that sends what the handler of an endpoint answers. */
function senderOf({ method, path, auth, tag, csv, answers, mediaType, shared }: Endpoint) {
  const tagged = method === "get" && isOpen(auth);
  const cacheControl = shared && cacheControlOf(shared);
  const file = csv && {
    name: path.split("/").findLast((part) => !part.startsWith(":")) ?? tag,
    columns: columnsOf(answers[200]),
  };

  return (call: Call, request: Request, response: Response, { status, headers = {}, body }: SomeAnswer): void => {
    response.statusCode = status;
    // shared caches must not keep a response made for one caller
    if (call.credential) response.setHeader("Cache-Control", "private, no-store");
    else if (cacheControl !== undefined)
      response.setHeader("Cache-Control", call.isAnonymous ? cacheControl : "private, no-cache");
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (tagged) {
      response.vary("Authorization");
      // what one client has left is nothing to others
      if (String(response.getHeader("Cache-Control")).startsWith("public")) response.removeHeader("RateLimit");
    }
    if (file) response.vary("Accept");
    if (body === undefined) response.end();
    else if (mediaType === "text/event-stream") sendEventStream(request, response, body);
    else if (mediaType !== undefined) sendText(response, body, mediaType);
    else if (file && status === 200 && request.accepts(["json", "csv"]) === "csv")
      sendCsv(response, file.columns, body, file.name);
    else sendJson(request, response, body, tagged && !call.credential);
  };
}

/** Returns the headers of an operation that is to go: RFC 9745 and RFC 8594. */
const deprecationHeaders = ({ deprecated }: Endpoint): [name: string, value: string][] =>
  deprecated
    ? [
        ["Deprecation", `@${Date.parse(deprecated.since) / 1_000}`],
        ["Sunset", new Date(deprecated.until).toUTCString()],
      ]
    : [];

/** Returns what Express calls for a request of an endpoint: it checks the caller and the input, runs the handler and sends its answer. */
export function requestHandler(endpoint: Endpoint, handler: (input: never) => Promise<SomeAnswer>): RequestHandler {
  const { method, path, auth, limit, upload } = endpoint;
  const largest = endpoint.bodyBytes ?? (isOpen(auth) ? MAX_OPEN_JSON_BYTES : MAX_JSON_BYTES);
  const read = endpoint.body && bodyReader(largest);
  const deprecated = deprecationHeaders(endpoint);
  const requests = worksByItself(endpoint) ? followRequests(method.toUpperCase(), path) : null;
  const takesTurn = method !== "get" && requests !== null;
  const [parseInput, send] = [parserOf(endpoint), senderOf(endpoint)];

  async function findCaller(call: Call, request: Request, response: Response): Promise<void> {
    try {
      call.credential = await identify(request, auth);
    } finally {
      limitRequests(call, response, call.user?.id ?? null, limit);
    }
    response.locals["userId"] = call.user?.id;
  }

  function runHandler(call: Call): Promise<SomeAnswer> {
    if (requests) call.leave = requests.enter(call.caller);
    // it matches the declaration by construction; the compiler cannot follow that through six generics
    return handler(call as never);
  }

  async function answer(call: Call, request: Request, response: Response): Promise<void> {
    // A small body is read while the caller is looked up. It is parsed, and its errors count, once the caller is authorised.
    const isLarge = read !== undefined && largest > SMALL_BODY_BYTES && !isSmall(request);
    const reading = isLarge ? undefined : read?.(request, response);
    reading?.catch(() => undefined);
    await findCaller(call, request, response);
    // a large body is taken in only from a caller who is known to be there
    const checksSession = endpoint.checksSession === true && call.credential !== null && !isLarge;
    if (!checksSession) call.partner = await authorize(call.credential, auth);
    if (upload) allowSlowBody(request);
    const respond = async (): Promise<void> => {
      await (isLarge ? read(request, response) : reading);
      parseInput(call, request, response);
      const work = () => runHandler(call);
      send(call, request, response, await (takesTurn ? limitChanges(call.caller, work) : work()));
    };
    try {
      await (isLarge ? limitLargeBodies(call.caller, respond) : respond());
    } catch (error) {
      // that the caller is gone comes before all else that is wrong
      if (checksSession) await authorize(call.credential, auth);
      throw error;
    }
  }

  return async (request, response, next) => {
    response.locals["route"] = path;
    for (const [name, value] of deprecated) response.setHeader(name, value);
    if (requests?.refuses()) {
      // past the handlers of errors, which take longer
      sendProblem(request, response, overloaded());
      return;
    }
    const call = new Call(request, response);
    try {
      await answer(call, request, response);
    } catch (error) {
      // no response can be sent to a client that has disconnected
      if (!response.destroyed) next(error);
    } finally {
      call.leave();
    }
  };
}
