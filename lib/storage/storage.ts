import type { Readable } from "node:stream";

/** Bytes from `start` to `end`, both included. */
export interface Range {
  start: number;
  end: number;
}

/** An unfinished upload in parts: the key of its file, and storage's id of the upload. */
export interface PartsUpload {
  key: string;
  uploadId: string;
}

/** An uploaded part, by the `ETag` that answered its upload. */
export interface UploadedPart {
  partNumber: number;
  etag: string;
}

/** The sizes in bytes that a file may have. */
export interface SizeRange {
  least: number;
  most: number;
}

/** The named parts are not those that were uploaded, or have another size than the upload began with. */
export class WrongParts extends Error {
  override name = "WrongParts";
}

/** Throws WrongParts for parts whose size is not one that their upload began with. */
export function checkSize(bytes: number, { least, most }: SizeRange): void {
  if (bytes > most) throw new WrongParts(`the parts have more than the ${most} bytes that the upload began with`);
  if (bytes < least) throw new WrongParts(`the parts have fewer than the ${least} bytes that the upload began with`);
}

/** Storage does not answer, or refuses; the client is not at fault. The message is for operators. */
export class StorageUnavailable extends Error {
  override name = "StorageUnavailable";
}

/** No file has this key, or no longer. */
export class NoFile extends Error {
  override name = "NoFile";
  constructor() {
    super("the file is no longer in storage");
  }
}

/** Storage of files. Every method throws StorageUnavailable when storage fails. Keys have letters, digits, `-`, `.` and `/`. */
export interface Storage {
  /** Writes a file, whole or not at all, replacing an earlier one. */
  put(key: string, body: Readable, contentType: string): Promise<void>;
  /** Returns a file's size in bytes; null when there is none. */
  size(key: string): Promise<number | null>;
  /** Opens a file; throws NoFile when there is none. */
  read(key: string, range?: Range): Promise<Readable>;
  /** Deletes a file, if it is there. */
  delete(key: string): Promise<void>;
  /** Begins an upload in parts. */
  beginParts(key: string, contentType: string): Promise<PartsUpload>;
  /**
   * Returns the storage's own address that takes a part of exactly `bytes` by PUT, without a token, until `expiresAt`; null
   * for a storage that takes parts from this service only.
   */
  partUrl(upload: PartsUpload, partNumber: number, bytes: number, expiresAt: Date): Promise<string | null>;
  /** Stores a part of `bytes`, replacing an earlier version of it; returns its ETag. Throws WrongParts when the upload is over. */
  putPart(upload: PartsUpload, partNumber: number, body: Readable, bytes: number): Promise<string>;
  /**
   * Joins the parts into the file, in the order of their numbers. Throws WrongParts, and stores nothing, when one is missing or
   * was replaced, or when their size together is not one of `sizes`.
   */
  joinParts(upload: PartsUpload, parts: readonly UploadedPart[], sizes: SizeRange): Promise<void>;
  /** Deletes the parts of an unfinished upload. */
  dropParts(upload: PartsUpload): Promise<void>;
  /** Deletes what killed processes left unfinished before `since`, where the key passes `isFileKey`. */
  dropAbandoned(since: Date, isFileKey: (key: string) => boolean): Promise<void>;
  /** Returns how many bytes there are and how many are left; null when there is no such limit. */
  space(): Promise<{ size: number; free: number } | null>;
  /** Throws when files cannot be stored. */
  check(): Promise<void>;
}
