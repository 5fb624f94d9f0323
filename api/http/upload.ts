import type { IncomingMessage } from "node:http";
import { Readable, Transform } from "node:stream";
import busboy, { type Busboy } from "busboy";
import { z } from "zod";
import type { ApiError } from "../../lib/process/errors.js";
import { mediaType } from "../../lib/storage/file-types.js";
import { refusal, refusalWith } from "./refusal.js";
import { FieldErrors } from "./refusals.js";

/** How many bytes a form may have beside its file. */
const FORM_BYTES = 16_384;

export const MB = 1_048_576;

/** A file that is being received. */
export interface IncomingFile {
  /** The media type that the client declares. */
  declaredType: string;
  /** The size that the client announces lies between these, as a form has more bytes than its file. */
  leastBytes: number;
  mostBytes: number;
  /** Fails with the error for the client: 413 past `readBytes`, 400 when the form breaks off. */
  body: Readable;
  /** How many bytes have been received so far. */
  receivedBytes: () => number;
}

export const fileTooLarge = refusalWith(413, "PAYLOAD_TOO_LARGE", "FILE_TOO_LARGE", {
  detail: ({ maxBytes }) => `This is larger than ${maxBytes / MB} MB.`,
  remedy: "Send a file of at most `maxBytes`.",
  facts: { maxBytes: z.int() },
  example: { maxBytes: 50 * MB },
});
const otherType = refusalWith(400, "UNSUPPORTED_MEDIA_TYPE", "OTHER_CONTENT_TYPE", {
  detail: ({ accepted }) => `The body must be sent as ${accepted.join(" or ")}.`,
  remedy: "Send the file in a form, or with one of the Content-Types in `accepted`.",
  facts: { accepted: z.array(z.string()) },
  example: { accepted: ["multipart/form-data"] },
});
const brokenForm = refusal(
  400,
  "BAD_REQUEST",
  "BROKEN_UPLOAD",
  "The upload is malformed or incomplete.",
  "The connection broke, or the form is not one. Send the file again.",
);
const noPart = refusalWith(400, "VALIDATION_ERROR", "FILE_MISSING", {
  detail: ({ errors }) => `The form has no file named ${errors[0]?.path ?? "file"}.`,
  remedy: "Send the file as the part of the form that `errors` names.",
  facts: { errors: FieldErrors },
  example: { errors: [{ path: "file", message: "is missing" }] },
});

/** The reasons for which a file may be refused while it is received. */
export const uploadRefusals = [fileTooLarge, otherType, brokenForm, noPart];

const nothing = (): void => undefined;

/**
 * Returns a stream for a request's body that fails past `bytes`, and when the request breaks off. Once it is closed, the
 * rest of the request is read and discarded, so that the client receives the response.
 */
function boundedBody(incoming: IncomingMessage, bytes: number): { body: Transform; receivedBytes: () => number } {
  let passed = 0;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      passed += chunk.length;
      if (passed > bytes) next(fileTooLarge({ maxBytes: bytes }));
      else next(null, chunk);
    },
  });
  incoming.once("close", () => {
    if (!incoming.complete) body.destroy(brokenForm());
  });
  body.once("close", () => {
    incoming.unpipe();
    incoming.resume();
  });
  // its reader sees the failure; between two readers an error without a listener would end the process
  body.on("error", nothing);
  return { body, receivedBytes: () => passed };
}

/** Returns a request's body as a stream that fails past `bytes`. */
export const receiveBody = (incoming: IncomingMessage, bytes: number): Readable =>
  incoming.pipe(boundedBody(incoming, bytes).body);

/** Which upload an endpoint takes. */
export interface UploadOptions {
  /** The name of the file's part in a multipart form. */
  part: string;
  /** The media type of a body that is the file itself; without it only forms are accepted. */
  alone?: string;
  /** A larger announced size is refused before the file is read. */
  maxBytes: number;
  /** Reading stops past this size; `maxBytes` by default. */
  readBytes?: number;
}

/** Begins to receive a file. Throws 413 when the announced size is too large, and 400 without a file. */
export async function receiveFile(
  incoming: IncomingMessage,
  { part, alone, maxBytes, readBytes = maxBytes }: UploadOptions,
): Promise<IncomingFile> {
  const type = mediaType(incoming.headers["content-type"] ?? "");
  const isForm = type === "multipart/form-data";
  if (!isForm && type !== alone)
    throw otherType({ accepted: ["multipart/form-data", ...(alone === undefined ? [] : [alone])] });
  const length = incoming.headers["content-length"];
  const leastBytes = Math.max(0, Number(length ?? 0) - (isForm ? FORM_BYTES : 0));
  if (leastBytes > maxBytes) throw fileTooLarge({ maxBytes });
  const sizes = { leastBytes, mostBytes: Math.min(Number(length ?? maxBytes), maxBytes) };

  const { body, receivedBytes } = boundedBody(incoming, readBytes);
  if (!isForm) return { declaredType: type, ...sizes, body: incoming.pipe(body), receivedBytes };
  try {
    const declaredType = mediaType(await readForm(incoming, part, body));
    return { declaredType, ...sizes, body, receivedBytes };
  } catch (error) {
    body.destroy();
    throw error;
  }
}

/** Pipes a part of the form into `body`; resolves with the part's declared media type as soon as the part begins. */
function readForm(incoming: IncomingMessage, part: string, body: Transform): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (error: ApiError) => {
      reject(error);
      body.destroy(error);
    };
    body.once("error", reject);
    let form: Busboy;
    try {
      form = busboy({
        headers: incoming.headers,
        limits: { fields: 20, fieldSize: 1_024, parts: 30, headerPairs: 50 },
      });
    } catch {
      fail(brokenForm());
      return;
    }
    let found = false;
    form.on("file", (name, file, { mimeType }) => {
      file.on("error", () => fail(brokenForm()));
      if (found || name !== part) {
        file.resume();
        return;
      }
      found = true;
      file.pipe(body);
      resolve(mimeType);
    });
    form.on("error", () => fail(brokenForm()));
    form.on("finish", () => reject(noPart({ errors: [{ path: part, message: "is missing" }] })));
    incoming.pipe(form);
  });
}

/** Reads at least the first `bytes` of a stream, or all of a shorter one; `whole` is the stream from its start. */
export async function peek(stream: Readable, bytes: number): Promise<{ head: Buffer; whole: Readable }> {
  const pieces: AsyncIterator<Buffer, undefined> = stream.iterator({ destroyOnReturn: false });
  const read: Buffer[] = [];
  for (let length = 0; length < bytes;) {
    const { done, value } = await pieces.next();
    if (done) break;
    read.push(value);
    length += value.length;
  }
  const head = Buffer.concat(read);
  async function* all() {
    yield head;
    yield* { [Symbol.asyncIterator]: () => pieces };
  }
  return { head, whole: Readable.from(all(), { objectMode: false }) };
}
