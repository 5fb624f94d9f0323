import type { IncomingMessage } from "node:http";
import { ApiError } from "../../lib/process/errors.js";

/** The client has disconnected; a 400 keeps this out of the server's errors. */
const brokenOff = () => new ApiError(400, "BAD_REQUEST", "The request could not be read.");

const tooLarge = () => new ApiError(413, "PAYLOAD_TOO_LARGE", "The body is larger than this endpoint accepts.");

/** Reads a body byte for byte. Throws 413 past `most` bytes, at once when Content-Length is larger, and 400 when it breaks off. */
export async function readRawBody(incoming: IncomingMessage, most: number): Promise<Buffer> {
  if (Number(incoming.headers["content-length"] ?? 0) > most) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    incoming.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > most) {
        incoming.removeAllListeners("data").resume();
        reject(tooLarge());
      } else {
        chunks.push(chunk);
      }
    });
    incoming.once("end", () => resolve(Buffer.concat(chunks, length)));
    incoming.once("error", () => reject(brokenOff()));
  });
}
