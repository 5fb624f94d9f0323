import { pipeline } from "node:stream/promises";
import { Router, type NextFunction, type Request, type Response } from "express";
import { files, isSigned, keysOf, partSubject } from "../../../lib/storage/file-store.js";
import { WrongParts, type Range } from "../../../lib/storage/storage.js";
import { PART_BYTES } from "./parts.js";
import { addressExpired, lengthMissing, otherLength } from "./refusals.js";
import { clientNetwork } from "../../http/client-network.js";
import { unlessDisabled } from "../../http/limits.js";
import { Places } from "../../http/places.js";
import { notFound, tooManyRequests } from "../../http/refusals.js";
import { hasTag } from "../../http/answer.js";
import { allowSlowBody } from "../../http/body-time.js";
import { fileTooLarge, receiveBody } from "../../http/upload.js";

const YEAR_SECONDS = 31_536_000;

/** Of one client address. Each may hold one of the 512 connections to the bucket, for as long as its client is slow. */
const FILES_AT_ONCE = 128;

const places = new Places();

/** Takes a place of the client's address until its response is closed; throws 429 RATE_LIMIT when it has none left. */
function takePlace(request: Request, response: Response, next: NextFunction): void {
  const leave = places.take(clientNetwork(request.ip ?? ""), unlessDisabled(FILES_AT_ONCE) ?? Infinity);
  if (leave === null) throw tooManyRequests({ retryAfterSeconds: 1 });
  response.once("close", leave);
  next();
}

const unknown = () => notFound("This file");

const text = (value: unknown): string => (typeof value === "string" ? value : "");

const signatureOf = ({ query }: Request) => ({ expires: text(query["expires"]), signature: text(query["signature"]) });

/** Sends a file, or the requested range of it. */
async function sendFile(
  request: Request,
  response: Response,
  key: string,
  headers: Record<string, string>,
): Promise<void> {
  const size = await files.size(key);
  if (size === null) throw unknown();
  // the content of a key never changes
  const tag = `"${key.replace(/^.*\//, "")}"`;
  response.set({ ...headers, "Accept-Ranges": "bytes", ETag: tag });
  if (hasTag(request, tag)) {
    response.status(304).end();
    return;
  }
  const ifRange = request.get("If-Range");
  const ranges = ifRange === undefined || ifRange === tag ? request.range(size) : undefined;
  if (ranges === -1) {
    response.status(416).set("Content-Range", `bytes */${size}`).end();
    return;
  }
  // a request for several ranges gets the whole file, as RFC 9110 allows
  const [only, ...more] = Array.isArray(ranges) && ranges.type === "bytes" ? ranges : [];
  const range: Range | undefined = only && more.length === 0 ? only : undefined;
  if (range) response.status(206).set("Content-Range", `bytes ${range.start}-${range.end}/${size}`);
  response.set("Content-Length", String(range ? range.end - range.start + 1 : size));
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  await pipeline(await files.read(key, range), response).catch((error: unknown) => {
    // after the headers, a client notices the failure by the incomplete response
    if (!response.headersSent) throw error;
  });
}

/** What is served at signed addresses only, by its ending. */
const signed = {
  ".pdf": { form: "document", contentType: "application/pdf" },
  ".json": { form: "data", contentType: "application/json" },
} as const;

const isSignedEnding = (ending: string | undefined): ending is keyof typeof signed =>
  ending !== undefined && Object.hasOwn(signed, ending);

/** Serves public images, and documents and users' own data at signed addresses; receives the parts of uploads. */
export const fileContent = Router();

fileContent.use("/files", takePlace);

fileContent.get("/files/:file", async (request, response) => {
  const [, name, ending] = /^([0-9a-f]{40})(\.webp|-thumbnail\.webp|\.pdf|\.json)$/.exec(request.params.file) ?? [];
  if (name === undefined) throw unknown();
  const keys = keysOf(name);
  if (!isSignedEnding(ending)) {
    await sendFile(request, response, ending === ".webp" ? keys.image : keys.thumbnail, {
      "Content-Type": "image/webp",
      "Cache-Control": `public, max-age=${YEAR_SECONDS}, immutable`,
      "Cross-Origin-Resource-Policy": "cross-origin",
    });
    return;
  }
  const { form, contentType } = signed[ending];
  if (!isSigned(`${form} ${name}`, signatureOf(request))) throw addressExpired();
  await sendFile(request, response, keys[form], {
    "Content-Type": contentType,
    "Content-Disposition": `attachment; filename="${name.slice(0, 12)}${ending}"`,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, no-store",
  });
});

/** Receives one part of an upload. With a bucket, clients send there directly the parts whose size is known. */
fileContent.put("/files/uploads/:uploadId/:part", async (request, response) => {
  const { uploadId, part } = request.params;
  const upload = { key: text(request.query["key"]), uploadId };
  const size = text(request.query["bytes"]);
  if (!isSigned(partSubject(upload, part, size), signatureOf(request))) throw addressExpired();
  const bytes = Number(request.headers["content-length"]);
  if (Number.isNaN(bytes)) throw lengthMissing();
  if (size !== "" && bytes !== Number(size)) throw otherLength({ size: Number(size) });
  if (bytes > PART_BYTES) throw fileTooLarge({ maxBytes: PART_BYTES });
  allowSlowBody(request);
  const body = receiveBody(request, PART_BYTES);
  try {
    response
      .set("ETag", await files.putPart(upload, Number(part), body, bytes))
      .status(200)
      .end();
  } catch (error) {
    if (error instanceof WrongParts) throw notFound("This upload");
    throw error;
  } finally {
    body.destroy();
  }
});
