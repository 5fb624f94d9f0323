import { config } from "../../../lib/process/config.js";
import { ApiError } from "../../../lib/process/errors.js";
import { deleteFile, keysOf } from "../../../lib/storage/file-store.js";
import { isImage } from "../../../lib/storage/file-types.js";
import { images } from "../../../queues/index.js";
import { contended, inTurn, lookups, sql, transaction, type Db } from "../../../sql/db.js";
import {
  deleteUnfinishedFile,
  findFile,
  findUploads,
  insertFile,
  fileStillExists,
  lockUploads,
  updateDocumentReady,
  updateFileStored,
  type FileRow,
  type NewFile,
} from "../../../sql/queries/files.js";
import { stageJob } from "../../../sql/outbox.js";
import { awaitResult } from "../../../sql/signals.js";
import { created } from "../../http/endpoint.js";
import { notFound } from "../../http/refusals.js";
import { MB } from "../../http/upload.js";
import { documentsFull, imageUnreadable, tooManyUploads } from "./refusals.js";
import { later, present } from "./stored-file.js";

// The life of an upload, direct or in parts: it begins when its owner has room, is settled when all its bytes are in
// storage, and is answered when the file is ready.

/** Per user: documents are kept until their owner deletes them. */
const MAX_DOCUMENT_BYTES = 1_024 * MB;

/** An upload that has begun, with its owner. */
export type Upload = Pick<FileRow, "id" | "name" | "contentType"> & { userId: string };

/** The storage key of an upload, by its type. */
export const keyOf = ({ contentType, name }: Pick<FileRow, "contentType" | "name">): string =>
  keysOf(name)[isImage(contentType) ? "original" : "document"];

/** Runs a transaction that no other of the user's uploads runs beside. */
const changeUploads = <T>(userId: string, work: (tx: Db) => Promise<T>): Promise<T> =>
  inTurn(`uploads ${userId}`, () =>
    transaction(async (tx) => {
      await lockUploads(tx, userId);
      return work(tx);
    }),
  );

/** Begins an upload and returns its id. Throws 409 without room; a lock per user makes the count exact. */
export const beginUpload = (userId: string, file: NewFile): Promise<string> =>
  changeUploads(userId, async (tx) => {
    const { open, openBytes, documentBytes, announcedBytes } = await findUploads(tx, userId);
    const bytes = file.inParts?.size ?? 1;
    if (open >= config.OPEN_UPLOADS || openBytes + bytes > config.OPEN_UPLOAD_BYTES)
      throw tooManyUploads({ maxUploads: config.OPEN_UPLOADS, maxBytes: config.OPEN_UPLOAD_BYTES });
    if (!isImage(file.contentType) && documentBytes + announcedBytes + bytes > MAX_DOCUMENT_BYTES)
      throw documentsFull();
    return await insertFile(tx, userId, file);
  });

/** Deletes an upload that was refused. */
export async function dropUpload({ id, name }: Upload): Promise<void> {
  await deleteFile(name);
  await deleteUnfinishedFile(sql, id);
}

/** Makes an upload a document; false when it was settled before. Throws 409 when the owner's documents then exceed their limit. */
async function settleDocument(tx: Db, { id, userId }: Upload, size: number): Promise<boolean> {
  const settled = await updateDocumentReady(tx, id, size);
  // its size is known only now
  const { documentBytes } = await findUploads(tx, userId);
  if (settled && documentBytes > MAX_DOCUMENT_BYTES) throw documentsFull();
  return settled;
}

/**
 * Settles an upload whose bytes are all in storage: an image goes to a worker, a document is ready. If the upload was
 * deleted meanwhile, its bytes may have arrived later, so they are deleted here; then throws 404.
 */
export async function settleUpload(upload: Upload, size: number, requestId: string): Promise<void> {
  const { id, name, contentType } = upload;
  const settled = await changeUploads(upload.userId, async (tx) => {
    if (!isImage(contentType)) return await settleDocument(tx, upload, size);
    const stored = await updateFileStored(tx, id, size);
    // the users take turns: a user's first image comes before another's second
    if (stored) await stageJob(tx, images, { fileId: id }, { requestId, priority: stored.ahead });
    return stored !== undefined;
  }).catch(async (error: unknown) => {
    if (error instanceof ApiError) await dropUpload(upload);
    throw error;
  });
  if (!settled && !(await fileStillExists(contended, id))) {
    await deleteFile(name);
    throw notFound("This upload");
  }
}

/** Waits for a settled file; returns 201 when it is ready, or 202 when that takes too long. */
export async function answerSettled(id: string, gone: AbortSignal) {
  const file = await awaitResult({ name: "file", id, deadlineMs: config.SYNC_WAIT_MS, abort: gone }, async () => {
    const found = await findFile(lookups, id);
    if (!found) throw notFound("This upload");
    if (found.status === "REFUSED") throw imageUnreadable();
    return found.status === "READY" ? found : null;
  });
  return file ? created(present(file), `/api/v1/files/${id}`) : later(id);
}
