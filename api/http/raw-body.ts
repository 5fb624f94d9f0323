import type { IncomingMessage } from "node:http";
import { bodyTooLarge, unreadable } from "./refusals.js";

/** Reads a body byte for byte. Throws 413 past `most` bytes, at once when Content-Length is larger, and 400 when it breaks off. */
export async function readRawBody(incoming: IncomingMessage, most: number): Promise<Buffer> {
  if (Number(incoming.headers["content-length"] ?? 0) > most) throw bodyTooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    incoming.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > most) {
        incoming.removeAllListeners("data").resume();
        reject(bodyTooLarge());
      } else {
        chunks.push(chunk);
      }
    });
    incoming.once("end", () => resolve(Buffer.concat(chunks, length)));
    // the client has disconnected; a 400 keeps this out of the server's errors
    incoming.once("error", () => reject(unreadable()));
  });
}
