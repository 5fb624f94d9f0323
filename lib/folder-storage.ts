import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isNativeError } from "node:util/types";
import { checkedKey } from "./storage-key.js";
import { WrongParts, type PartsUpload, type Storage, type UploadedPart } from "./storage.js";

/** Storage in a folder, which takes parts itself. */
export interface FolderStorage extends Storage {
  /** Keeps one part of an upload that has begun, in place of what was sent before; answers its ETag. */
  putPart(uploadId: string, partNumber: number, body: Readable): Promise<string>;
}

const isMissing = (error: unknown): boolean => isNativeError(error) && "code" in error && error.code === "ENOENT";

/** Keeps files in a folder. A file is there once it is complete and on disk, and never half. */
export function folderStorage(
  folder: string,
  partAddress: (upload: PartsUpload, partNumber: number, expiresAt: Date) => string,
): FolderStorage {
  const pathOf = (key: string) => join(folder, checkedKey(key));
  const partKey = (uploadId: string, partNumber: number) => `uploads/${uploadId}/${partNumber}`;

  const write = async (path: string, body: AsyncIterable<Uint8Array>) => {
    const unfinished = `${path}.${randomUUID()}.unfinished`;
    await mkdir(dirname(path), { recursive: true });
    try {
      await pipeline(body, createWriteStream(unfinished, { flags: "wx", mode: 0o600, flush: true }));
      await rename(unfinished, path);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
    await syncFolder(dirname(path));
  };

  const read: Storage["read"] = async (key, range) => {
    const file = await open(pathOf(key));
    return createReadStream("", { fd: file, ...range });
  };

  /** The bytes of all parts one after the other; throws WrongParts at one that is missing or another than was named. */
  async function* bytesOf(uploadId: string, parts: readonly UploadedPart[]): AsyncGenerator<Uint8Array> {
    for (const { partNumber, etag } of parts) {
      const hash = createHash("md5");
      const part = await read(partKey(uploadId, partNumber)).catch((error: unknown) => {
        throw isMissing(error) ? new WrongParts(`part ${partNumber} has not come in`) : error;
      });
      for await (const chunk of part as AsyncIterable<Uint8Array>) {
        hash.update(chunk);
        yield chunk;
      }
      if (hash.digest("hex") !== etag.replaceAll('"', "")) throw new WrongParts(`part ${partNumber} is another`);
    }
  }

  return {
    async put(key, body) {
      await write(pathOf(key), body);
    },
    async size(key) {
      try {
        return (await stat(pathOf(key))).size;
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    read,
    async delete(key) {
      await rm(pathOf(key), { force: true });
    },

    async beginParts(key) {
      const uploadId = randomBytes(20).toString("hex");
      await mkdir(pathOf(`uploads/${uploadId}`), { recursive: true });
      return { key, uploadId };
    },
    partUrl: (upload, partNumber, expiresAt) => Promise.resolve(partAddress(upload, partNumber, expiresAt)),
    async putPart(uploadId, partNumber, body) {
      const hash = createHash("md5");
      // an upload that was finished or dropped takes no more
      await stat(pathOf(`uploads/${uploadId}`)).catch((error: unknown) => {
        throw isMissing(error) ? new WrongParts("this upload is over") : error;
      });
      const hashed = async function* () {
        for await (const chunk of body as AsyncIterable<Uint8Array>) {
          hash.update(chunk);
          yield chunk;
        }
      };
      await write(pathOf(partKey(uploadId, partNumber)), hashed());
      return `"${hash.digest("hex")}"`;
    },
    async joinParts({ key, uploadId }, parts) {
      const inOrder = [...parts].sort((a, b) => a.partNumber - b.partNumber);
      await write(pathOf(key), bytesOf(uploadId, inOrder));
      await rm(pathOf(`uploads/${uploadId}`), { recursive: true, force: true });
    },
    async dropParts({ uploadId }) {
      await rm(pathOf(`uploads/${uploadId}`), { recursive: true, force: true });
    },
  };
}

/** A rename is on disk once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
