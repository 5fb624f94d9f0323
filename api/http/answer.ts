import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Request, Response } from "express";

/** The preferred format of RFC 9110, section 5.6.7; a date in another format is ignored. */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The length from which a text is sent as bytes. */
const LONG = 2_000;

/**
 * Whether the client's copy has this tag. Cache-Control: no-cache, which `fetch` adds by itself and Express's `fresh` minds,
 * does not matter: it asks for an answer from the origin, and 304 is one.
 */
export function hasTag(request: IncomingMessage, tag: string): boolean {
  const sent = request.headers["if-none-match"]?.split(",").map((each) => each.trim().replace(/^W\//, "")) ?? [];
  return sent.includes("*") || sent.includes(tag.replace(/^W\//, ""));
}

/** Whether the client's copy has the same modification time as this response; `no-cache` does not matter here either. */
export function isUnmodified(request: IncomingMessage, lastModified: number | string | string[]): boolean {
  const { "if-modified-since": since, "if-none-match": tag } = request.headers;
  if (since === undefined || tag !== undefined || !httpDate.test(since)) return false;
  const sinceAt = Date.parse(since);
  return Date.parse(String(lastModified)) <= sinceAt && sinceAt <= Date.now();
}

/**
 * Sends a value as JSON. A `tagged` response carries an ETag unless it has a Last-Modified; a client that already has it
 * (If-None-Match, If-Modified-Since) gets 304. Replaces Express's `json`, which looks up its settings on every response. Node
 * writes a short text together with the headers; a long one it would encode three times, to tag, to measure and to send it.
 */
export function sendJson(request: Request, response: Response, value: unknown, tagged: boolean): void {
  const text = JSON.stringify(value);
  const body = text.length < LONG ? text : Buffer.from(text);
  const lastModified = response.getHeader("Last-Modified");
  if (lastModified !== undefined) {
    if (isUnmodified(request, lastModified)) {
      response.status(304).end();
      return;
    }
  } else if (tagged) {
    const tag = `W/"${hash("sha1", body, "base64url")}"`;
    response.setHeader("ETag", tag);
    if (hasTag(request, tag)) {
      response.status(304).end();
      return;
    }
  }
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", Buffer.byteLength(body));
  response.end(body);
}

/** Sends text of a media type, in UTF-8. */
export function sendText(response: Response, value: unknown, mediaType: string): void {
  const body = String(value);
  response.setHeader("Content-Type", `${mediaType}; charset=utf-8`);
  response.setHeader("Content-Length", Buffer.byteLength(body));
  response.end(body);
}
