import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isNativeError } from "node:util/types";

/** Bytes from `start` to `end`, both included. */
export interface Range {
  start: number;
  end: number;
}

/** Where files lie. Keys are made by us: letters, digits, `-`, `.` and `/`. */
export interface Storage {
  /** Writes what the stream gives, whole or not at all, in place of what was there. */
  put(key: string, body: Readable, contentType: string): Promise<void>;
  /** How many bytes there are; null when there is no such file. */
  size(key: string): Promise<number | null>;
  /** Opens a file that is there. */
  read(key: string, range?: Range): Promise<Readable>;
  /** Deletes a file, if it is there. */
  delete(key: string): Promise<void>;
}

const wellFormed = /^[a-z0-9][a-z0-9.-]*(\/[a-z0-9][a-z0-9.-]*)*$/i;

/** Keeps files in a folder. A file is there once it is complete and on disk, and never half. */
export function folderStorage(folder: string): Storage {
  const pathOf = (key: string) => {
    if (!wellFormed.test(key) || key.includes("..")) throw new Error("a key of storage has another form");
    return join(folder, key);
  };
  return {
    async put(key, body) {
      const path = pathOf(key);
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
    },
    async size(key) {
      try {
        return (await stat(pathOf(key))).size;
      } catch (error) {
        if (isNativeError(error) && "code" in error && error.code === "ENOENT") return null;
        throw error;
      }
    },
    async read(key, range) {
      const file = await open(pathOf(key));
      return createReadStream("", { fd: file, ...range });
    },
    async delete(key) {
      await rm(pathOf(key), { force: true });
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
