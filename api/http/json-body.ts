import express, { type Request, type RequestHandler, type Response } from "express";
import { parseJsonBody } from "../../lib/process/parse-json.js";
import { notJson, notSentAsJson } from "./refusals.js";

/** Whether a Content-Type is JSON's; in UTF-8, as RFC 8259 wants it. */
const isJson = (request: Request) =>
  typeof request.is("application/json") === "string" &&
  !/;\s*charset=(?!"?utf-8"?\s*(;|$))/i.test(request.get("content-type") ?? "");

/**
 * Returns a function that reads a body of up to `most` bytes into `request.body`, as bytes. A body of another Content-Type is
 * refused before it is read.
 */
export function bodyReader(most: number) {
  const readBytes: RequestHandler = express.raw({ limit: most, type: "application/json" });
  return async (request: Request, response: Response): Promise<void> => {
    const { "transfer-encoding": encoding, "content-length": length = 0 } = request.headers;
    if ((encoding !== undefined || Number(length) > 0) && !isJson(request)) throw notSentAsJson();
    await new Promise<void>((resolve, reject) => {
      readBytes(request, response, (error?: unknown) => {
        if (error === undefined) resolve();
        else reject(error instanceof Error ? error : new Error("the body could not be read", { cause: error }));
      });
    });
  };
}

/** Parses a body that was read; no body is an empty object. */
export function jsonOf(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return {};
  const json = parseJsonBody(body);
  if (json === undefined) throw notJson();
  return json ?? {};
}
