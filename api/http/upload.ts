import type { IncomingMessage } from "node:http";
import { Readable, Transform } from "node:stream";
import busboy, { type Busboy } from "busboy";
import { ApiError } from "../../lib/process/errors.js";
import { mediaType } from "../../lib/storage/file-types.js";

/** By how much a form may be longer than the file in it. */
const FORM_BYTES = 16_384;

const MB = 1_048_576;

/** A file that comes in. */
export interface IncomingFile {
  /** What the client says it is. */
  declaredType: string;
  /** At least how many bytes it has; null when the client does not say. */
  announcedBytes: number | null;
  /** Fails with what the client is to be told: 413 past `readBytes`, 400 when the form breaks off. */
  body: Readable;
  /** How many bytes of it have come in so far. */
  receivedBytes: () => number;
}

export const tooLarge = (bytes: number) =>
  new ApiError(413, "PAYLOAD_TOO_LARGE", `This is larger than ${bytes / MB} MB.`);
const otherType = (types: string) => new ApiError(400, "BAD_REQUEST", `The body must be sent as ${types}.`);
const brokenForm = () => new ApiError(400, "BAD_REQUEST", "What was sent is malformed or breaks off.");
const noPart = (part: string) =>
  new ApiError(400, "VALIDATION_ERROR", `The form has no file named ${part}.`, {
    errors: [{ path: part, message: "is missing" }],
  });

const nothing = (): void => undefined;

/**
 * Somewhere for what comes in with a request, which lets at most so many bytes pass and fails beyond, and when the request
 * breaks off. Once it is closed the rest is read and forgotten, so that the client hears the answer.
 */
function bounded(incoming: IncomingMessage, bytes: number): { body: Transform; receivedBytes: () => number } {
  let passed = 0;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      passed += chunk.length;
      if (passed > bytes) next(tooLarge(bytes));
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
  // whoever reads it hears of its failure; nobody does between the steps of reading it
  body.on("error", nothing);
  return { body, receivedBytes: () => passed };
}

/** A request's body, which fails past so many bytes. */
export const receiveBody = (incoming: IncomingMessage, bytes: number): Readable =>
  incoming.pipe(bounded(incoming, bytes).body);

/** What may come in, and how. */
export interface Reception {
  /** The name of the file's part in a multipart form. */
  part: string;
  /** The media type of a body that is the file itself; without it only forms are taken. */
  alone?: string;
  /** More may not be announced: it is refused before any of it is read. */
  maxBytes: number;
  /** More is not read. */
  readBytes?: number;
}

/** Begins to read a file. Throws 413 when it says that it is too large, and 400 when it is not there. */
export async function receiveFile(
  incoming: IncomingMessage,
  { part, alone, maxBytes, readBytes = maxBytes }: Reception,
): Promise<IncomingFile> {
  const type = mediaType(incoming.headers["content-type"] ?? "");
  const isForm = type === "multipart/form-data";
  if (!isForm && type !== alone) throw otherType(["multipart/form-data", alone].filter(Boolean).join(" or "));
  const length = incoming.headers["content-length"];
  const announcedBytes = length === undefined ? null : Math.max(0, Number(length) - (isForm ? FORM_BYTES : 0));
  if (announcedBytes !== null && announcedBytes > maxBytes) throw tooLarge(maxBytes);

  const { body, receivedBytes } = bounded(incoming, readBytes);
  if (!isForm) return { declaredType: type, announcedBytes, body: incoming.pipe(body), receivedBytes };
  try {
    const declaredType = mediaType(await readForm(incoming, part, body));
    return { declaredType, announcedBytes, body, receivedBytes };
  } catch (error) {
    body.destroy();
    throw error;
  }
}

/** Feeds `body` with a part of the form as that comes in; resolves with the type that the part says it has. */
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
    form.on("finish", () => reject(noPart(part)));
    incoming.pipe(form);
  });
}

/** Reads the first bytes of a stream, or more, or all if there are fewer; `whole` gives them and what follows. */
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
