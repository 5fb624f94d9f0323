import type { ServerResponse } from "node:http";
import type { Request, Response } from "express";
import { z } from "zod";
import { STREAM_BEGUN } from "./observe.js";
import { shownAs } from "./schemas.js";

/** Takes over a response that stays open; null: there is nobody to write to. */
export type TakeOver = (response: ServerResponse | null) => void;

/** The body of a response that stays open as server-sent events (WHATWG HTML, section 9.2). */
export const EventStream = z
  .custom<TakeOver>((body) => typeof body === "function")
  .meta({ override: shownAs({ type: "string" }) });

/** Begins a stream, and leaves the response to the one who writes it. A HEAD request gets its headers. */
export function sendEventStream(request: Request, response: Response, body: unknown): void {
  const takeOver = EventStream.parse(body);
  response.setHeader("Content-Type", "text/event-stream; charset=utf-8");
  // no proxy may keep it, compress it or hold it back
  response.setHeader("Cache-Control", "no-store, no-transform");
  response.setHeader("X-Accel-Buffering", "no");
  if (request.method === "HEAD" || response.destroyed) {
    takeOver(null);
    response.end();
    return;
  }
  response.emit(STREAM_BEGUN);
  takeOver(response);
}
