import type { Readable } from "node:stream";

/** Bytes from `start` to `end`, both included. */
export interface Range {
  start: number;
  end: number;
}

/** An upload in parts that has begun: the file it will be, and the name that storage has for it. */
export interface PartsUpload {
  key: string;
  uploadId: string;
}

/** A part that has come in, by the `ETag` that its upload was answered with. */
export interface UploadedPart {
  partNumber: number;
  etag: string;
}

/** The parts that were named are not those that came in. */
export class WrongParts extends Error {
  override name = "WrongParts";
}

/** Storage gives no answer, or refuses: no fault of whoever sent or wants a file. The message is for whoever runs the service. */
export class StorageUnavailable extends Error {
  override name = "StorageUnavailable";
}

/** There is no file of this key, or no longer. */
export class NoFile extends Error {
  override name = "NoFile";
  constructor() {
    super("the file is no longer in storage");
  }
}

/** Where files lie. All that they do throws StorageUnavailable when storage is out of order. Keys are made by us: letters, digits, `-`, `.` and `/`. */
export interface Storage {
  /** Writes what the stream gives, whole or not at all, in place of what was there. */
  put(key: string, body: Readable, contentType: string): Promise<void>;
  /** How many bytes there are; null when there is no such file. */
  size(key: string): Promise<number | null>;
  /** Opens a file; throws NoFile when there is none. */
  read(key: string, range?: Range): Promise<Readable>;
  /** Deletes a file, if it is there. */
  delete(key: string): Promise<void>;
  /** Begins a file that comes in parts. */
  beginParts(key: string, contentType: string): Promise<PartsUpload>;
  /** The address that takes one part by PUT, without a token, until then. */
  partUrl(upload: PartsUpload, partNumber: number, expiresAt: Date): Promise<string>;
  /** Makes the file of its parts, in the order of their numbers; throws WrongParts when one is missing or another. */
  joinParts(upload: PartsUpload, parts: readonly UploadedPart[]): Promise<void>;
  /** Deletes what has come in of an upload that was not finished. */
  dropParts(upload: PartsUpload): Promise<void>;
  /** Deletes what has lain unfinished since then, left by processes that were killed; of files of ours alone. */
  dropForgotten(since: Date, isOurs: (key: string) => boolean): Promise<void>;
  /** Throws unless files can be kept. */
  check(): Promise<void>;
}
