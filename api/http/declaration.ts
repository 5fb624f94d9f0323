import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import type { Logger } from "../../lib/process/log.js";
import type { Db } from "../../sql/db.js";
import type { Auth, Caller } from "./auth.js";
import type { EndpointLimit } from "./limits.js";
import type { Refusal } from "./refusal.js";
import type { InvalidCode } from "./refusals.js";
import type { Sharing } from "./shared-caches.js";
import type { Tag } from "./tags.js";

export type Method = "get" | "post" | "put" | "patch" | "delete";
export type Schema = z.ZodType;
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
  /** Of the service key; null for a user. */
  apiKeyId: string | null;
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
