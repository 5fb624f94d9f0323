import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Request, Response } from "express";

/** The form that everyone sends (RFC 9110, section 5.6.7); a date of another form counts as none. */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Whether the caller has what was last modified when this answer was. It counts also when they insist on an answer from
 * here (Cache-Control: no-cache, which `fetch` adds by itself): this is one.
 */
export function isUnmodified(request: IncomingMessage, lastModified: number | string | string[]): boolean {
  const { "if-modified-since": since, "if-none-match": tag } = request.headers;
  if (since === undefined || tag !== undefined || !httpDate.test(since)) return false;
  const sinceAt = Date.parse(since);
  return Date.parse(String(lastModified)) <= sinceAt && sinceAt <= Date.now();
}

/**
 * Sends a value as JSON. `tagged` answers carry an ETag, unless they say when they were last modified: whoever shows that
 * they have this very answer (If-None-Match, If-Modified-Since) is told so with 304 instead. This does what Express's
 * `json` does, without what it finds out anew for every answer.
 */
export function sendJson(request: Request, response: Response, value: unknown, tagged: boolean): void {
  const body = Buffer.from(JSON.stringify(value));
  const lastModified = response.getHeader("Last-Modified");
  if (lastModified !== undefined) {
    if (isUnmodified(request, lastModified)) {
      response.status(304).end();
      return;
    }
  } else if (tagged) {
    response.setHeader("ETag", `W/"${hash("sha1", body, "base64url")}"`);
    if (request.fresh) {
      response.status(304).end();
      return;
    }
  }
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", body.length);
  response.end(body);
}
