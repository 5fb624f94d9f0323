import type { IncomingMessage } from "node:http";
import express, { Router, type NextFunction, type Request, type RequestHandler, type Response } from "express";
import type { z } from "zod";
import { ApiError, notFound, type ErrorCode } from "../../lib/process/errors.js";
import { describeIssue } from "../../lib/process/input-errors.js";
import { log, type Logger } from "../../lib/process/log.js";
import { sendJson } from "./answer.js";
import { authorize, identify, type Auth, type Caller, type Credential } from "./auth.js";
import { columnsOf, sendCsv } from "./csv.js";
import { invalidInput } from "./errors.js";
import { limitRequests, type EndpointLimit } from "./limits.js";
import type { Tag } from "./tags.js";

type Method = "get" | "post" | "put" | "patch" | "delete";
type Schema = z.ZodType;
type Answers = Readonly<Record<number, Schema | null>>;

/** A handler's result: a declared status with the body declared for it. */
export type Answer<R extends Answers> = {
  [Status in keyof R & number]: { status: Status; headers?: Record<string, string> } & (R[Status] extends Schema
    ? { body: z.output<R[Status]> }
    : { body?: undefined });
}[keyof R & number];

/** An endpoint without its handler: the source of validation, types, the OpenAPI document and the authorisation tests. */
export interface Declaration<
  A extends Auth,
  P extends Schema,
  Q extends Schema,
  H extends Schema,
  B extends Schema,
  R extends Answers,
> {
  summary: string;
  description?: string;
  auth: A;
  params?: P;
  query?: Q;
  headers?: H;
  body?: B;
  /** A file, streamed instead of a body: a part of a multipart form, or the whole body in the media type `alone`. */
  upload?: { part: string; alone?: string };
  answers: R;
  limit?: EndpointLimit;
  /** Whether a client may have the 200 response, an object or a list of objects, as CSV (Accept). */
  csv?: boolean;
  /** Errors beyond those that the declaration implies, such as `409 CONFLICT`. */
  errors?: readonly `${number} ${ErrorCode}`[];
}

/** A handler's input: parsed values only. */
export interface Input<
  A extends Auth,
  P extends Schema,
  Q extends Schema,
  H extends Schema,
  B extends Schema,
> extends Caller<A> {
  params: z.output<P>;
  query: z.output<Q>;
  headers: z.output<H>;
  body: z.output<B>;
  /** Path and query string as sent, for links to the next page. */
  address: string;
  ip: string;
  /** The raw request, for uploads. */
  incoming: IncomingMessage;
  /** Aborted when the client disconnects before the response. */
  gone: AbortSignal;
  requestId: string;
  log: Logger;
}

export interface Endpoint extends Declaration<Auth, Schema, Schema, Schema, Schema, Answers> {
  method: Method;
  /** The full path in Express form, such as `/api/v1/boxes/:id`. */
  path: string;
  tag: Tag;
  /** The error code for an invalid body or query in this section. */
  invalid: ErrorCode;
}

export const ok = <B>(body: B, headers?: Record<string, string>) => ({
  status: 200 as const,
  body,
  ...(headers && { headers }),
});
export const created = <B>(body: B, location?: string) => ({
  status: 201 as const,
  body,
  ...(location !== undefined && { headers: { Location: location } }),
});
export const noContent = () => ({ status: 204 as const });

type Nothing = z.ZodUndefined;

type Declare = <
  A extends Auth,
  R extends Answers,
  P extends Schema = Nothing,
  Q extends Schema = Nothing,
  H extends Schema = Nothing,
  B extends Schema = Nothing,
>(
  path: string,
  declaration: Declaration<A, P, Q, H, B, R>,
  handler: (input: Input<A, P, Q, H, B>) => Promise<Answer<R>>,
) => void;

export interface Section extends Record<Method, Declare> {
  prefix: string;
  router: Router;
  endpoints: Endpoint[];
}

const maxJsonBytes = 1_048_576;
const parseJson: RequestHandler = express.json({ limit: maxJsonBytes, strict: false });

/** Reads the body as JSON. A body of another Content-Type is refused before it is read. */
async function readJson(request: Request, response: Response): Promise<void> {
  const sent = request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
  if (sent && !request.is("application/json"))
    throw new ApiError(400, "BAD_REQUEST", "The body must be sent as application/json.");
  await new Promise<void>((resolve, reject) => {
    parseJson(request, response, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error("the body could not be read", { cause: error }));
    });
  });
}

function parse(schema: Schema | undefined, value: unknown, refuse: (error: z.ZodError) => ApiError): unknown {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value, { error: describeIssue });
  if (!result.success) throw refuse(result.error);
  return result.data;
}

/** Declares a group of endpoints under one path; `invalid` is the error code for an invalid body or query. */
export function section({
  prefix,
  tag,
  invalid = "VALIDATION_ERROR",
}: {
  prefix: string;
  tag: Tag;
  invalid?: ErrorCode;
}): Section {
  const router = Router();
  const endpoints: Endpoint[] = [];

  const declare =
    (method: Method): Declare =>
    (path, declaration, handler) => {
      const endpoint: Endpoint = {
        ...declaration,
        method,
        path: `/api/v1${prefix}${path === "/" ? "" : path}`,
        tag,
        invalid,
      };
      endpoints.push(endpoint);
      const tagged = method === "get" && ["ANYONE", "OPTIONAL_USER", "BANNER_READER"].includes(endpoint.auth);

      const file = endpoint.csv && {
        name: endpoint.path.split("/").findLast((part) => !part.startsWith(":")) ?? tag,
        columns: columnsOf(endpoint.answers[200]),
      };

      const handle = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
        response.locals["route"] = endpoint.path;
        try {
          // The body is read while the caller is looked up; its errors count only once the caller is authorised.
          const reading = declaration.body && readJson(request, response);
          reading?.catch(() => undefined);
          let credential: Credential | null = null;
          try {
            credential = await identify(request, declaration.auth);
          } finally {
            limitRequests(request, response, credential?.user?.id ?? null, declaration.limit);
          }
          const partner = await authorize(credential, declaration.auth);
          await reading;
          const requestId = String(response.getHeader("x-request-id"));
          const input = {
            user: credential?.user ?? null,
            partner,
            params: parse(declaration.params, request.params, () => notFound("This address")),
            // Express parses the query string on every access
            query: parse(declaration.query, declaration.query && request.query, (error) =>
              invalidInput(invalid, "query", error),
            ),
            headers: parse(declaration.headers, request.headers, (error) => invalidInput(invalid, "headers", error)),
            body: parse(declaration.body, request.body ?? {}, (error) => invalidInput(invalid, "", error)),
            address: request.originalUrl,
            requestId,
            get incoming(): IncomingMessage {
              return request;
            },
            get gone() {
              const gone = new AbortController();
              response.once("close", () => gone.abort());
              return gone.signal;
            },
            get ip() {
              return request.ip ?? "";
            },
            get log() {
              return log.child({ requestId });
            },
          };
          // shared caches must not keep a response made for one caller
          if (credential) response.setHeader("Cache-Control", "private, no-store");
          if (tagged && declaration.auth !== "ANYONE") response.vary("Authorization");
          // The input matches the declaration by construction; the compiler cannot follow that through six generics.
          const answer = await handler(input as Parameters<typeof handler>[0]);
          response.statusCode = answer.status;
          for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
          if (file) response.vary("Accept");
          if (answer.body === undefined) response.end();
          else if (file && answer.status === 200 && request.accepts(["json", "csv"]) === "csv")
            sendCsv(response, file.columns, answer.body, file.name);
          else sendJson(request, response, answer.body, tagged && !credential);
        } catch (error) {
          // no response can be sent to a client that has disconnected
          if (!response.destroyed) next(error);
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
