import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { access, constants, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isNativeError } from "node:util/types";
import { checkedKey } from "./storage-key.js";
import {
  NoFile,
  StorageUnavailable,
  WrongParts,
  type PartsUpload,
  type Storage,
  type UploadedPart,
} from "./storage.js";

/** Storage in a folder, which takes parts itself. */
export interface FolderStorage extends Storage {
  /** Keeps one part of an upload that has begun, in place of what was sent before; answers its ETag. */
  putPart(uploadId: string, partNumber: number, body: Readable): Promise<string>;
}

const nothing = (): void => undefined;

const isMissing = (error: unknown): boolean => isNativeError(error) && "code" in error && error.code === "ENOENT";

/** Has what the file system refuses told as the fault of storage. */
const onDisk =
  <A extends unknown[], R>(act: (...given: A) => Promise<R>) =>
  async (...given: A): Promise<R> => {
    try {
      return await act(...given);
    } catch (error) {
      if (!isNativeError(error) || !("syscall" in error)) throw error;
      throw new StorageUnavailable("the folder for files cannot be used", { cause: error });
    }
  };

/** Keeps files in a folder. A file is there once it is complete and on disk, and never half. */
export function folderStorage(
  folder: string,
  partAddress: (upload: PartsUpload, partNumber: number, expiresAt: Date) => string,
): FolderStorage {
  const pathOf = (key: string) => join(folder, checkedKey(key));
  /** Writes to where `place` says once all of it is there. */
  const write = async (place: () => string | Promise<string>, body: AsyncIterable<Uint8Array>) => {
    const unfinished = join(folder, "unfinished", randomUUID());
    await mkdir(dirname(unfinished), { recursive: true });
    try {
      await pipeline(body, createWriteStream(unfinished, { flags: "wx", mode: 0o600, flush: true }));
      const path = await place();
      await rename(unfinished, path);
      await syncFolder(dirname(path));
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  };

  const read = onDisk<Parameters<Storage["read"]>, Readable>(async (key, range) => {
    const file = await open(pathOf(key)).catch((error: unknown) => {
      throw isMissing(error) ? new NoFile() : error;
    });
    return createReadStream("", { fd: file, ...range });
  });

  async function* bytesOf(keys: readonly string[]): AsyncGenerator<Uint8Array> {
    for (const key of keys) yield* (await read(key)) as AsyncIterable<Uint8Array>;
  }

  const uploadFolder = (uploadId: string) => pathOf(`uploads/${uploadId}`);
  const dropParts = ({ uploadId }: Pick<PartsUpload, "uploadId">) =>
    rm(uploadFolder(uploadId), { recursive: true, force: true });

  /** What has come in of a part, the latest last: what is sent while another is on its way may lie beside it for a moment. */
  const versionsOf = async (uploadId: string, partNumber: number) =>
    (await readdir(uploadFolder(uploadId)))
      .map(partOf)
      .filter((part) => part.partNumber === partNumber)
      .sort((a, b) => a.turn - b.turn || (a.digest < b.digest ? -1 : 1));

  /** Drops all that has come in of a part but the latest; which that is, all who do so at once agree on. */
  const dropReplaced = async (uploadId: string, partNumber: number) => {
    const versions = await versionsOf(uploadId, partNumber);
    for (const { name } of versions.slice(0, -1)) await rm(join(uploadFolder(uploadId), name), { force: true });
  };

  /** The keys of parts; throws WrongParts when one is missing or another. */
  const partKeys = async (uploadId: string, parts: readonly UploadedPart[]) => {
    const there = (await namesIn(uploadFolder(uploadId))).map(partOf);
    return parts.map(({ partNumber, etag }) => {
      const versions = there.filter((part) => part.partNumber === partNumber);
      const named = versions.find(({ digest }) => digest === etag.replaceAll('"', ""));
      if (named) return `uploads/${uploadId}/${named.name}`;
      const isAnother = versions.length > 0;
      throw new WrongParts(`part ${partNumber} ${isAnother ? "is another" : "has not come in"}`);
    });
  };

  const joinOnce = async ({ key, uploadId }: PartsUpload, parts: readonly UploadedPart[]) => {
    const keys = await partKeys(
      uploadId,
      [...parts].sort((a, b) => a.partNumber - b.partNumber),
    );
    await mkdir(dirname(pathOf(key)), { recursive: true });
    await write(() => pathOf(key), bytesOf(keys)).catch((error: unknown) => {
      throw error instanceof NoFile ? new WrongParts("this upload is over, or a part was sent again") : error;
    });
    await dropParts({ uploadId });
  };
  /** The uploads that are being joined: one at a time each, as all of it is copied. */
  const joining = new Map<string, Promise<void>>();

  return {
    put: onDisk(async (key, body) => {
      await mkdir(dirname(pathOf(key)), { recursive: true });
      await write(() => pathOf(key), body);
    }),
    size: onDisk(async (key) => {
      try {
        return (await stat(pathOf(key))).size;
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    }),
    read,
    delete: onDisk((key) => rm(pathOf(key), { force: true })),

    beginParts: onDisk(async (key) => {
      const uploadId = randomBytes(20).toString("hex");
      await mkdir(uploadFolder(uploadId), { recursive: true });
      return { key, uploadId };
    }),
    partUrl: (upload, partNumber, expiresAt) => Promise.resolve(partAddress(upload, partNumber, expiresAt)),
    putPart: onDisk(async (uploadId, partNumber, body) => {
      let digest = "";
      const hashed = async function* () {
        const hash = createHash("md5");
        for await (const chunk of body as AsyncIterable<Uint8Array>) {
          hash.update(chunk);
          yield chunk;
        }
        digest = hash.digest("hex");
      };
      try {
        // an upload that was finished or dropped takes no more, not even what has been on its way since before
        await access(uploadFolder(uploadId));
        await write(async () => {
          const turn = ((await versionsOf(uploadId, partNumber)).at(-1)?.turn ?? 0) + 1;
          return join(uploadFolder(uploadId), `${partNumber}.${turn}.${digest}`);
        }, hashed());
        await dropReplaced(uploadId, partNumber);
      } catch (error) {
        throw isMissing(error) ? new WrongParts("this upload is over") : error;
      }
      return `"${digest}"`;
    }),
    joinParts: onDisk(async (upload, parts) => {
      const { uploadId } = upload;
      const turn = (joining.get(uploadId) ?? Promise.resolve()).catch(nothing).then(() => joinOnce(upload, parts));
      joining.set(uploadId, turn);
      try {
        await turn;
      } finally {
        if (joining.get(uploadId) === turn) joining.delete(uploadId);
      }
    }),
    dropParts: onDisk(dropParts),

    dropForgotten: onDisk(async (since) => {
      for (const place of ["unfinished", "uploads"]) {
        for (const name of await namesIn(join(folder, place))) {
          const path = join(folder, place, name);
          // another process may have come first
          const found = await stat(path).catch(() => undefined);
          if (found && found.mtime < since) await rm(path, { recursive: true, force: true });
        }
      }
    }),
    check: onDisk(async () => {
      await mkdir(folder, { recursive: true });
      await access(folder, constants.W_OK);
    }),
  };
}

/** Says what the name of a part's file does: the part's number, how often it had been sent by then, and the digest of its bytes. */
function partOf(name: string): { name: string; partNumber: number; turn: number; digest: string } {
  const [partNumber, turn, digest = ""] = name.split(".");
  return { name, partNumber: Number(partNumber), turn: Number(turn), digest };
}

/** What lies in a folder; nothing when it is not there. */
const namesIn = (path: string): Promise<string[]> =>
  readdir(path).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });

/** A rename is on disk once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
