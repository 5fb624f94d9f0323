import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isNativeError } from "node:util/types";
import { faultOf, folderFault, makeFolder } from "../process/folders.js";
import { checkedKey } from "./storage-key.js";
import {
  checkSize,
  NoFile,
  StorageUnavailable,
  WrongParts,
  type PartsUpload,
  type SizeRange,
  type Storage,
  type UploadedPart,
} from "./storage.js";

const nothing = (): void => undefined;

const isMissing = (error: unknown): boolean => isNativeError(error) && "code" in error && error.code === "ENOENT";

/** Wraps a function so that it throws StorageUnavailable for errors of the file system. */
const onDisk =
  <A extends unknown[], R>(act: (...given: A) => Promise<R>) =>
  async (...given: A): Promise<R> => {
    try {
      return await act(...given);
    } catch (error) {
      if (!isNativeError(error) || !("syscall" in error)) throw error;
      throw new StorageUnavailable(`the folder for files cannot be used: ${faultOf(error)}`, { cause: error });
    }
  };

/** Stores files in a folder. A file appears once it is complete and on disk, never in part. */
export function folderStorage(folder: string): Storage {
  const pathOf = (key: string) => join(folder, checkedKey(key));
  /** Writes a temporary file and, once it is complete, moves it to the path that `place` returns. */
  const write = async (place: () => string | Promise<string>, body: AsyncIterable<Uint8Array>) => {
    const unfinished = join(folder, "unfinished", randomUUID());
    await makeFolder(dirname(unfinished));
    try {
      // opened here: a stream that opens by itself may still create the file after it was deleted below
      const file = await open(unfinished, "wx", 0o600);
      await pipeline(body, file.createWriteStream({ flush: true }));
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

  const size = async (key: string) => {
    try {
      return (await stat(pathOf(key))).size;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  };

  async function* bytesOf(keys: readonly string[]): AsyncGenerator<Uint8Array> {
    for (const key of keys) yield* (await read(key)) as AsyncIterable<Uint8Array>;
  }

  const uploadFolder = (uploadId: string) => pathOf(`uploads/${uploadId}`);
  const dropParts = ({ uploadId }: Pick<PartsUpload, "uploadId">) =>
    rm(uploadFolder(uploadId), { recursive: true, force: true });

  /** Lists the stored versions of a part, the latest last; concurrent uploads of one part leave several for a moment. */
  const versionsOf = async (uploadId: string, partNumber: number) =>
    (await readdir(uploadFolder(uploadId)))
      .map(partOf)
      .filter((part) => part.partNumber === partNumber)
      .sort((a, b) => a.version - b.version || (a.digest < b.digest ? -1 : 1));

  /** Deletes all versions of a part but the latest; concurrent callers agree on which that is. */
  const dropReplaced = async (uploadId: string, partNumber: number) => {
    const versions = await versionsOf(uploadId, partNumber);
    for (const { name } of versions.slice(0, -1)) await rm(join(uploadFolder(uploadId), name), { force: true });
  };

  /** Returns the keys of the named parts; throws WrongParts when one is missing or was replaced. */
  const partKeys = async (uploadId: string, parts: readonly UploadedPart[]) => {
    const there = (await namesIn(uploadFolder(uploadId))).map(partOf);
    return parts.map(({ partNumber, etag }) => {
      const versions = there.filter((part) => part.partNumber === partNumber);
      const named = versions.find(({ digest }) => digest === etag.replaceAll('"', ""));
      if (named) return `uploads/${uploadId}/${named.name}`;
      const wasReplaced = versions.length > 0;
      throw new WrongParts(`part ${partNumber} ${wasReplaced ? "was replaced" : "was not uploaded"}`);
    });
  };

  const joinOnce = async ({ key, uploadId }: PartsUpload, parts: readonly UploadedPart[], range: SizeRange) => {
    const keys = await partKeys(
      uploadId,
      [...parts].sort((a, b) => a.partNumber - b.partNumber),
    );
    const sizes = await Promise.all(keys.map(size));
    checkSize(
      sizes.reduce<number>((total, each) => total + (each ?? 0), 0),
      range,
    );
    await makeFolder(dirname(pathOf(key)));
    await write(() => pathOf(key), bytesOf(keys)).catch((error: unknown) => {
      throw error instanceof NoFile ? new WrongParts("this upload is over, or a part was sent again") : error;
    });
    await dropParts({ uploadId });
  };
  /** The joins in progress, by upload: each upload is joined once at a time, as a join copies the file. */
  const joining = new Map<string, Promise<void>>();

  const findSpace = onDisk(async () => {
    const { bsize, blocks, bavail } = await statfs(folder);
    return { size: blocks * bsize, free: bavail * bsize };
  });
  let spaceAsked: ReturnType<typeof findSpace> | undefined;

  return {
    put: onDisk(async (key, body) => {
      await makeFolder(dirname(pathOf(key)));
      await write(() => pathOf(key), body);
    }),
    size: onDisk(size),
    read,
    delete: onDisk((key) => rm(pathOf(key), { force: true })),

    beginParts: onDisk(async (key) => {
      const uploadId = randomBytes(20).toString("hex");
      await makeFolder(uploadFolder(uploadId));
      return { key, uploadId };
    }),
    partUrl: () => Promise.resolve(null),
    putPart: onDisk(async ({ uploadId }, partNumber, body) => {
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
        // an upload that was finished or dropped takes no more parts, not even those already on their way
        await access(uploadFolder(uploadId));
        await write(async () => {
          const version = ((await versionsOf(uploadId, partNumber)).at(-1)?.version ?? 0) + 1;
          return join(uploadFolder(uploadId), `${partNumber}.${version}.${digest}`);
        }, hashed());
        await dropReplaced(uploadId, partNumber);
      } catch (error) {
        throw isMissing(error) ? new WrongParts("this upload is over") : error;
      }
      return `"${digest}"`;
    }),
    joinParts: onDisk(async (upload, parts, range) => {
      const { uploadId } = upload;
      const turn = (joining.get(uploadId) ?? Promise.resolve())
        .catch(nothing)
        .then(() => joinOnce(upload, parts, range));
      joining.set(uploadId, turn);
      try {
        await turn;
      } finally {
        if (joining.get(uploadId) === turn) joining.delete(uploadId);
      }
    }),
    dropParts: onDisk(dropParts),

    dropAbandoned: onDisk(async (since) => {
      for (const place of ["unfinished", "uploads"]) {
        for (const name of await namesIn(join(folder, place))) {
          const path = join(folder, place, name);
          // another process may have deleted it
          const found = await stat(path).catch(() => undefined);
          if (found && found.mtime < since) await rm(path, { recursive: true, force: true });
        }
      }
    }),
    // one call for all who ask meanwhile: a disk that does not answer keeps a thread for each
    space: () => (spaceAsked ??= findSpace().finally(() => (spaceAsked = undefined))),
    check: async () => {
      const fault = await folderFault(folder);
      if (fault !== null) throw new StorageUnavailable(`STORAGE_DIR ${folder} cannot be used: ${fault}`);
    },
  };
}

/** Parses the name of a part's file: the part's number, its version and the digest of its bytes. */
function partOf(name: string): { name: string; partNumber: number; version: number; digest: string } {
  const [partNumber, version, digest = ""] = name.split(".");
  return { name, partNumber: Number(partNumber), version: Number(version), digest };
}

/** Lists the names in a folder; none when it does not exist. */
const namesIn = (path: string): Promise<string[]> =>
  readdir(path).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });

/** Flushes a folder: only then is a rename in it on disk. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
