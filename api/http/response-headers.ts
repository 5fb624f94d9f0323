import { z } from "zod";
import { isOpen } from "./auth.js";
import type { Endpoint } from "./declaration.js";

const text = { type: "string" as const };

/** The headers that responses may have. */
export const responseHeaders = {
  Deprecation: {
    schema: text,
    description: "Since when apps should call something else, as `@` and seconds since 1970.",
  },
  ETag: {
    schema: text,
    description:
      "Sent back as `If-None-Match`, an unchanged response is 304 without a body. Absent where the response depends on a token " +
      "that was sent.",
  },
  "Last-Modified": { schema: text, description: "Sent back as `If-Modified-Since`, an unchanged response is 304." },
  Link: { schema: text, description: 'The next page, as `<address>; rel="next"`; the last page has none.' },
  Location: { schema: text, description: "Where the result is, or will be; absent when it has no address of its own." },
  RateLimit: {
    schema: text,
    description:
      "`limit=…, remaining=…, reset=…`: the requests left, and the seconds until there are more. Absent where shared caches may keep the response.",
  },
  "RateLimit-Policy": { schema: text, description: "The limit and its window in seconds, as `600;w=60`." },
  "Retry-After": { schema: { type: "integer" as const }, description: "Seconds, as `retryAfterSeconds` in the body." },
  Sunset: { schema: text, description: "The day from which the operation may be gone, as an HTTP date." },
  "WWW-Authenticate": {
    schema: text,
    description:
      '`Bearer`; where a token was sent, also `error="invalid_token"` and why as `error_description` (RFC 6750).',
  },
  "X-Request-Id": {
    schema: text,
    description: "The request's id, in the logs too: the one that was sent, or a new one.",
  },
};

type Header = keyof typeof responseHeaders;

const asks = (schema: z.ZodType | undefined, name: string) => schema instanceof z.ZodObject && name in schema.shape;

/** Whether a client that sends back a header of an earlier response may get 304. */
export const isConditional = ({ auth, method, answers, mediaType }: Endpoint) =>
  method === "get" && isOpen(auth) && 200 in answers && mediaType !== "text/event-stream";

/** Returns the headers that an endpoint's responses with this status may have. */
export function headersOf(endpoint: Endpoint, status: number): Record<string, { $ref: string }> {
  const { query, headers } = endpoint;
  const dated = asks(headers, "if-modified-since");
  const names: Header[] = [
    ...(status === 200 && asks(query, "cursor") ? (["Link"] as const) : []),
    ...([200, 304].includes(status) && isConditional(endpoint)
      ? [dated ? ("Last-Modified" as const) : ("ETag" as const)]
      : []),
    ...(status === 200 && endpoint.upload ? (["Location"] as const) : []),
    ...([201, 202, 302].includes(status) ? (["Location"] as const) : []),
    ...(status === 401 ? (["WWW-Authenticate"] as const) : []),
    ...(status === 429 || status === 503 ? (["Retry-After"] as const) : []),
    ...(endpoint.deprecated ? (["Deprecation", "Sunset"] as const) : []),
    "RateLimit",
    "RateLimit-Policy",
    "X-Request-Id",
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
