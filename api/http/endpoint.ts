import type { IncomingMessage } from "node:http";
import express, { Router, type NextFunction, type Request, type RequestHandler, type Response } from "express";
import { z } from "zod";
import { config } from "../../lib/process/config.js";
import type { ApiError } from "../../lib/process/errors.js";
import { describeIssue } from "../../lib/process/input-errors.js";
import { log, type Logger } from "../../lib/process/log.js";
import { withTrace } from "../../lib/process/traces.js";
import { parseJsonBody } from "../../lib/process/parse-json.js";
import { hasReplicas, lookups, recentLookupsOf, searchesOf, type Db } from "../../sql/db.js";
import { sendJson, sendText } from "./answer.js";
import { authorize, identify, type Auth, type Caller, type Credential } from "./auth.js";
import { columnsOf, sendCsv } from "./csv.js";
import { allowSlowBody } from "./body-time.js";
import { clientNetwork } from "./client-network.js";
import { invalidInput, invalidPath, sendProblem } from "./errors.js";
import { sendEventStream } from "./event-stream.js";
import {
  callerKey,
  isSmall,
  limitChanges,
  limitLargeBodies,
  limitRequests,
  SMALL_BODY_BYTES,
  type EndpointLimit,
} from "./limits.js";
import { followRequests } from "./overload.js";
import type { Refusal } from "./refusal.js";
import { notFound, notJson, notSentAsJson, overloaded, type InvalidCode } from "./refusals.js";
import { Id } from "./schemas.js";
import { cacheControlOf, type Sharing } from "./shared-caches.js";
import type { Tag } from "./tags.js";
import { nameUnknownFields } from "./unknown-fields.js";

type Method = "get" | "post" | "put" | "patch" | "delete";
type Schema = z.ZodType;
type Answers = Readonly<Record<number, Schema | null>>;

/** A handler's result: a declared status with the body declared for it. */
export type Answer<R extends Answers> = {
  [Status in keyof R & number]: { status: Status; headers?: Record<string, string> } & (R[Status] extends Schema
    ? { body: z.output<R[Status]> }
    : { body?: undefined });
}[keyof R & number];

/** How an endpoint is called in generated clients, and what it does. */
export type Title = Pick<Declaration, "name" | "summary">;

/** An endpoint without its handler: the source of validation, types, the OpenAPI document and the authorisation tests. */
export interface Declaration {
  /** The method of generated clients, such as `placeOrder`; a change breaks them. */
  name: string;
  summary: string;
  description?: string;
  auth: Auth;
  /** The parameters of the path, where they are not ids. */
  params?: Schema;
  query?: Schema;
  headers?: Schema;
  body?: Schema;
  /** A body in the caller's own format, for the document: the handler reads its bytes from the raw request. */
  rawBody?: Schema;
  /** The largest body, where callers without a token need more than they may send elsewhere. */
  bodyBytes?: number;
  /** A file, streamed instead of a body: a part of a multipart form, or the whole body in the media type `alone`. */
  upload?: { part: string; alone?: string };
  answers: Answers;
  limit?: EndpointLimit;
  /** The handler's first statement finds out whether account and session are still there, instead of one before it. */
  checksSession?: true;
  /**
   * Whether it may wait for a worker or a third party, without a connection to Postgres: then it is not one of few changes at once,
   * and not refused when all of its requests take long.
   */
  waits?: true;
  /** Whether a client may have the 200 response, an object or a list of objects, as CSV (Accept). */
  csv?: boolean;
  /** The media type of the 200 response where its body is text, or an `EventStream`; JSON otherwise. */
  mediaType?: "text/calendar" | "text/event-stream";
  /** How long shared caches may keep the 200 response to a request without a token. */
  shared?: Sharing;
  /** Reasons for a refusal beyond those that the declaration implies. */
  errors?: readonly Refusal[];
  /** Apps should call something else, which the description names: since the first of these days, and until the second. */
  deprecated?: { since: `${number}-${number}-${number}`; until: `${number}-${number}-${number}` };
}

type Parsed<S, Otherwise = undefined> = S extends Schema ? z.output<S> : Otherwise;

/** The names of the parameters in a path. */
type Named<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Named<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** A handler's input: parsed values only. */
export interface Input<Path, D extends Declaration> extends Caller<D["auth"]> {
  /** Of the caller's token; null in one that was issued without a login. */
  sessionId: string | null;
  /** When the caller's token expires, in milliseconds since 1970; null: never, or there is none. */
  expiresAt: number | null;
  params: Parsed<D["params"], Record<Named<Path>, string>>;
  query: Parsed<D["query"]>;
  headers: Parsed<D["headers"]>;
  body: Parsed<D["body"]>;
  /** Path and query string as sent, for links to the next page. */
  address: string;
  ip: string;
  /** The handle for rows by key that anyone may read: without a token they may be as old as a replica. */
  reads: Db;
  /** Returns the handle for a list of so many rows that anyone may read, within the share of the client's address; as `reads`. */
  searches: (rows: number) => Db;
  /** The raw request, for uploads. */
  incoming: IncomingMessage;
  /** Aborted when the client disconnects before the response. */
  gone: AbortSignal;
  /** Its id, and its trace if it has one (`withTrace`): what it causes keeps both. */
  requestId: string;
  log: Logger;
}

export interface Endpoint extends Declaration {
  method: Method;
  /** The full path in Express form, such as `/api/v1/boxes/:id`. */
  path: string;
  tag: Tag;
  /** The error code for an invalid body or query in this section. */
  invalid: InvalidCode;
}

export interface Ok<B> {
  status: 200;
  body: B;
  headers: Record<string, string>;
}

export const ok = <B>(body: B, headers: Record<string, string> = {}): Ok<B> => ({ status: 200, body, headers });
export const created = <B>(body: B, location?: string) => ({
  status: 201 as const,
  body,
  ...(location !== undefined && { headers: { Location: location } }),
});
export const accepted = <B>(body: B, location: string) => ({
  status: 202 as const,
  body,
  headers: { Location: location },
});
export const noContent = () => ({ status: 204 as const });

/** Returns the row that a query found; throws 404 without one. */
export function found<Row>(row: Row | null | undefined, what: string): Row {
  if (row === null || row === undefined) throw notFound(what);
  return row;
}

/** A member that no declaration has is refused, as it would be in a literal. */
type Declare = <Path extends string, D extends Declaration>(
  path: Path,
  declaration: D & Record<Exclude<keyof D, keyof Declaration>, never>,
  handler: (input: Input<Path, D>) => Promise<Answer<D["answers"]>>,
) => void;

export interface Section extends Record<Method, Declare> {
  prefix: string;
  router: Router;
  endpoints: Endpoint[];
}

/** The largest body, and the largest where anyone may call, who sends a phone or a token there. */
const MAX_JSON_BYTES = 1_048_576;
const MAX_OPEN_JSON_BYTES = 4_096;

/** Whether anyone may call, without a credential. */
export const isOpen = (auth: Auth) => ["ANYONE", "OPTIONAL_USER", "BANNER_READER"].includes(auth);

/** Whether the endpoint waits for no upload, worker or third party: when all of its requests take long, too many come. */
export const worksByItself = ({ upload, waits }: Declaration): boolean => !upload && !waits;

/** Whether a Content-Type is JSON's; in UTF-8, as RFC 8259 wants it. */
const isJson = (request: Request) =>
  typeof request.is("application/json") === "string" &&
  !/;\s*charset=(?!"?utf-8"?\s*(;|$))/i.test(request.get("content-type") ?? "");

/** Reads the body into `request.body`, as bytes. A body of another Content-Type is refused before it is read. */
async function readBody(request: Request, response: Response, readBytes: RequestHandler): Promise<void> {
  const sent = request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
  if (sent && !isJson(request)) throw notSentAsJson();
  await new Promise<void>((resolve, reject) => {
    readBytes(request, response, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error("the body could not be read", { cause: error }));
    });
  });
}

/** Parses a body that was read; no body is an empty object. */
function jsonOf(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return {};
  const json = parseJsonBody(body);
  if (json === undefined) throw notJson();
  return json;
}

const noParameters = z.object({});

function parse(schema: Schema | undefined, value: unknown, refuse: (error: z.ZodError) => ApiError): unknown {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value, { error: describeIssue });
  if (!result.success) throw refuse(result.error);
  return result.data;
}

/** The parameters of a path, as ids. */
function idsIn(path: string): { params?: Schema } {
  const ids = Array.from(path.matchAll(/:(\w+)/g), ([, name = ""]) => [name, Id] as const);
  return ids.length === 0 ? {} : { params: z.object(Object.fromEntries(ids)) };
}

interface SectionOptions {
  prefix: string;
  tag: Tag;
  /** The error code for an invalid body or query. */
  invalid?: InvalidCode;
}

/** Declares a group of endpoints under one path. */
export function section({ prefix, tag, invalid = "VALIDATION_ERROR" }: SectionOptions): Section {
  const router = Router();
  const endpoints: Endpoint[] = [];

  const declare =
    (method: Method): Declare =>
    (path, declaration, handler) => {
      const endpoint: Endpoint = {
        ...idsIn(path),
        ...declaration,
        method,
        path: `/api/v1${prefix}${path === "/" ? "" : path}`,
        tag,
        invalid,
      };
      endpoints.push(endpoint);
      const tagged = method === "get" && isOpen(endpoint.auth);
      const cacheControl = declaration.shared && cacheControlOf(declaration.shared);

      // RFC 9745 and RFC 8594
      const farewell: [string, string][] = declaration.deprecated
        ? [
            ["Deprecation", `@${Date.parse(declaration.deprecated.since) / 1_000}`],
            ["Sunset", new Date(declaration.deprecated.until).toUTCString()],
          ]
        : [];

      const isShed = worksByItself(endpoint);
      const takesTurn = method !== "get" && isShed;
      const requests = isShed ? followRequests(method.toUpperCase(), endpoint.path) : null;

      const file = endpoint.csv && {
        name: endpoint.path.split("/").findLast((part) => !part.startsWith(":")) ?? tag,
        columns: columnsOf(endpoint.answers[200]),
      };

      const largest = endpoint.bodyBytes ?? (isOpen(endpoint.auth) ? MAX_OPEN_JSON_BYTES : MAX_JSON_BYTES);
      const readBytes: RequestHandler = express.raw({ limit: largest, type: "application/json" });

      const readJson = (request: Request, response: Response): unknown => {
        const json = jsonOf(request.body) ?? {};
        if (config.NODE_ENV === "development") nameUnknownFields(response, declaration.body, json);
        return json;
      };

      const handle = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
        response.locals["route"] = endpoint.path;
        for (const [name, value] of farewell) response.setHeader(name, value);
        if (requests?.refuses()) {
          // past the handlers of errors, which take longer
          sendProblem(request, response, overloaded());
          return;
        }
        let leave = (): void => undefined;
        try {
          // A small body is read while the caller is looked up. It is parsed, and its errors count, once the caller is authorised.
          const isLarge = declaration.body !== undefined && largest > SMALL_BODY_BYTES && !isSmall(request);
          const read = () => declaration.body && readBody(request, response, readBytes);
          const reading = isLarge ? undefined : read();
          reading?.catch(() => undefined);
          let credential: Credential | null = null;
          try {
            credential = await identify(request, declaration.auth);
          } finally {
            limitRequests(request, response, credential?.user?.id ?? null, declaration.limit);
          }
          response.locals["userId"] = credential?.user?.id;
          // a large body is taken in only from a caller who is known to be there
          const checksSession = declaration.checksSession === true && credential !== null && !isLarge;
          const partner = checksSession ? null : await authorize(credential, declaration.auth);
          if (declaration.upload) allowSlowBody(request);
          const caller = () => callerKey(request, credential?.user?.id ?? null);
          const respond = async (): Promise<void> => {
            await (isLarge ? read() : reading);
            const requestId = String(response.getHeader("x-request-id"));
            const incoming: IncomingMessage = request;
            // who sends a token may have written what is read
            const isAnonymous = request.headers.authorization === undefined;
            if (config.NODE_ENV === "development")
              nameUnknownFields(response, declaration.query ?? noParameters, request.query, "query");
            const input = {
              user: credential?.user ?? null,
              sessionId: credential?.sessionId ?? null,
              expiresAt: credential?.expiresAt ?? null,
              partner,
              params: parse(endpoint.params, request.params, invalidPath),
              // Express parses the query string on every access
              query: parse(declaration.query, declaration.query && request.query, (error) =>
                invalidInput(invalid, "query", error),
              ),
              headers: parse(declaration.headers, request.headers, (error) => invalidInput(invalid, "headers", error)),
              body: parse(declaration.body, declaration.body && readJson(request, response), (error) =>
                invalidInput(invalid, "", error),
              ),
              address: request.originalUrl,
              requestId: withTrace(requestId),
              incoming,
              get gone() {
                const gone = new AbortController();
                response.once("close", () => gone.abort());
                return gone.signal;
              },
              get ip() {
                return request.ip ?? "";
              },
              get reads() {
                return isAnonymous && hasReplicas ? recentLookupsOf(clientNetwork(request.ip ?? "")) : lookups;
              },
              searches: (rows: number) => {
                // from here on it waits for its client's turn
                leave();
                return searchesOf(clientNetwork(request.ip ?? ""), rows, isAnonymous);
              },
              get log() {
                return log.child({ requestId });
              },
            };
            // shared caches must not keep a response made for one caller
            if (credential) response.setHeader("Cache-Control", "private, no-store");
            else if (cacheControl !== undefined && !isAnonymous)
              response.setHeader("Cache-Control", "private, no-cache");
            if (tagged) response.vary("Authorization");
            // The input matches the declaration by construction; the compiler cannot follow that through six generics.
            const handled = () => {
              leave = requests?.enter(caller()) ?? leave;
              return handler(input as Parameters<typeof handler>[0]);
            };
            const answer = await (takesTurn ? limitChanges(caller(), handled) : handled());
            response.statusCode = answer.status;
            for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
            if (cacheControl !== undefined && isAnonymous) response.setHeader("Cache-Control", cacheControl);
            // what one client has left is nothing to others
            if (tagged && String(response.getHeader("Cache-Control")).startsWith("public"))
              response.removeHeader("RateLimit");
            if (file) response.vary("Accept");
            if (answer.body === undefined) response.end();
            else if (declaration.mediaType === "text/event-stream") sendEventStream(request, response, answer.body);
            else if (declaration.mediaType !== undefined) sendText(response, answer.body, declaration.mediaType);
            else if (file && answer.status === 200 && request.accepts(["json", "csv"]) === "csv")
              sendCsv(response, file.columns, answer.body, file.name);
            else sendJson(request, response, answer.body, tagged && !credential);
          };
          try {
            await (isLarge ? limitLargeBodies(caller(), respond) : respond());
          } catch (error) {
            // that the caller is gone comes before all else that is wrong
            if (checksSession) await authorize(credential, declaration.auth);
            throw error;
          }
        } catch (error) {
          // no response can be sent to a client that has disconnected
          if (!response.destroyed) next(error);
        } finally {
          leave();
        }
      };
      router[method](path, handle);
    };

  return {
    prefix,
    router,
    endpoints,
    get: declare("get"),
    post: declare("post"),
    put: declare("put"),
    patch: declare("patch"),
    delete: declare("delete"),
  };
}
