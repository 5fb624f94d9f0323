import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { ApiError, conflict, notFound } from "../../../lib/process/errors.js";
import { deleteFile, files as storage, keysOf, newFileName } from "../../../lib/storage/file-store.js";
import { detectType, HEAD_BYTES, isImage, saysNothing } from "../../../lib/storage/file-types.js";
import { NoFile, WrongParts, type PartsUpload } from "../../../lib/storage/storage.js";
import { images } from "../../../queues/index.js";
import { contended, lookups, sql, transaction, type Db } from "../../../sql/db.js";
import {
  deleteUnfinishedFile,
  findFile,
  findOwnFile,
  findUploads,
  insertFile,
  isKept,
  lockUploads,
  updateDocumentReady,
  updateFileStored,
  type FileRow,
  type NewFile,
} from "../../../sql/queries/files.js";
import { stageJob } from "../../../sql/queries/staged-jobs.js";
import { awaitResult, poke } from "../../../sql/signals.js";
import { created, ok, section } from "../../http/endpoint.js";
import { Id, IdParams, Timestamp } from "../../http/schemas.js";
import { present, StoredFile } from "./stored-file.js";
import { peek, receiveFile, tooLarge } from "../../http/upload.js";

const MB = 1_048_576;
/** Above this a file comes in parts, so that what a bad line breaks off is little. */
const DIRECT_BYTES = 10 * MB;
export const PART_BYTES = 8 * MB;
/** What nobody takes away is bounded: uploads that were only begun, and documents, which are kept until they are deleted. */
const MOST_UNFINISHED = 50;
const MOST_DOCUMENT_BYTES = 1_024 * MB;
/** How long an upload may take, in one piece or in parts. */
const DIRECT_MS = 60 * 60_000;
const PARTS_MS = 6 * 60 * 60_000;

const UploadPolicy = z
  .object({
    uploadId: z.string(),
    partSize: z.int().meta({ description: "bytes of each part but the last" }),
    parts: z.array(z.object({ partNumber: z.int(), url: z.url(), method: z.literal("PUT") })).meta({
      description:
        "where each part goes: its bytes as the body, without a token; keep the `ETag` that is answered. A part may be " +
        "sent again. There may be more addresses than the file has parts",
    }),
    completeUrl: z.url().meta({
      description: "where to POST `{parts: [{partNumber, etag}]}`, with your token, once all parts were sent",
    }),
    expiresAt: Timestamp.meta({ description: "when the upload is given up" }),
  })
  .meta({
    id: "UploadPolicy",
    description:
      "How a large file comes in parts: cut it after every `partSize` bytes, PUT each part to its `url`, and finish at " +
      "`completeUrl`.",
  });

const Pending = z.object({ fileId: Id, uploadPolicy: UploadPolicy.optional() });

const Parts = z
  .array(z.object({ partNumber: z.int().min(1).max(10_000).meta({ example: 1 }), etag: z.string().min(1).max(200) }))
  .min(1)
  .max(1_000)
  .refine(
    (parts) => new Set(parts.map(({ partNumber }) => partNumber)).size === parts.length,
    "must be different parts",
  )
  .superRefine((parts, context) => {
    const numbers = new Set(parts.map(({ partNumber }) => partNumber));
    const missing = parts.findIndex((_part, index) => !numbers.has(index + 1)) + 1;
    if (missing > 0) context.addIssue({ code: "custom", message: `part ${missing} is missing` });
  })
  .meta({
    description: "each part, from the first to the last, with the `ETag` that its upload answered",
    example: [{ partNumber: 1, etag: '"5d41402abc4b2a76b9719d911017c592"' }],
  });

const unsupported = (detail: string) => new ApiError(400, "UNSUPPORTED_MEDIA_TYPE", detail);
const notAccepted = () => unsupported("Only JPEG, PNG, WebP, AVIF and GIF images and PDF documents are accepted.");
const unreadable = () => unsupported("This image cannot be read: it is damaged, or larger than 50 megapixels.");

/** What is not of the type that it was said to be; forms have `text/plain` for a part that says nothing. */
const sentAsAnother = (type: string, declared: string) =>
  unsupported(
    `This is ${type}: send the part with that Content-Type, not ${
      declared === "text/plain" ? "text/plain or none" : /^[\w.+/-]{1,60}$/.test(declared) ? declared : "another"
    }.`,
  );

/** A file that is coming in parts. */
interface PartsFile extends Pick<FileRow, "id" | "name" | "contentType"> {
  size: number;
  uploadId: string;
  expiresAt: Date;
}

const comesInParts = (file: FileRow): file is FileRow & PartsFile =>
  file.uploadId !== null && file.size !== null && file.expiresAt !== null;

const keyOf = (contentType: string, name: string) => keysOf(name)[isImage(contentType) ? "original" : "document"];

type Upload = Pick<FileRow, "id" | "name" | "contentType"> & { userId: string };

const documentsFull = () => conflict("There is room for 1 GB of your documents, and for no more: delete some first.");

/** Makes an upload a document, unless its owner's take too much with it; false when that has happened before. */
async function settleDocument(tx: Db, { id, userId }: Upload, size: number): Promise<boolean> {
  await lockUploads(tx, userId);
  const settled = await updateDocumentReady(tx, id, size);
  const { documentBytes } = await findUploads(tx, userId);
  if (settled && documentBytes > MOST_DOCUMENT_BYTES) throw documentsFull();
  return settled;
}

/** Deletes an upload that is not to become a file. */
async function dropUpload({ id, name }: Upload): Promise<void> {
  await deleteFile(name);
  await deleteUnfinishedFile(sql, id);
}

/**
 * Settles an upload, all of which lies in storage: an image goes to a worker, a document is ready. What was deleted
 * meanwhile is deleted again, as its bytes may have come after that, and is not found.
 */
async function settle(upload: Upload, size: number, requestId: string): Promise<void> {
  const { id, name, contentType } = upload;
  const settled = await transaction(async (tx) => {
    if (!isImage(contentType)) return await settleDocument(tx, upload, size);
    const stored = await updateFileStored(tx, id, size);
    if (stored) await stageJob(tx, images, { fileId: id }, { requestId });
    return stored;
  }).catch(async (error: unknown) => {
    if (error instanceof ApiError) await dropUpload(upload);
    throw error;
  });
  if (settled) poke("staged_jobs");
  else if (!(await isKept(contended, id))) {
    await deleteFile(name);
    throw notFound("This upload");
  }
}

/** Waits for a file that has come in to be settled; null when that takes too long. */
const awaitFile = (id: string, abort: AbortSignal): Promise<FileRow | null> =>
  awaitResult({ name: "file", id, deadlineMs: config.SYNC_WAIT_MS, abort }, async () => {
    const file = await findFile(lookups, id);
    if (!file) throw notFound("This upload");
    if (file.status === "REFUSED") throw unreadable();
    return file.status === "READY" ? file : null;
  });

const later = (fileId: string, uploadPolicy?: z.output<typeof UploadPolicy>) => ({
  status: 202 as const,
  body: { fileId, uploadPolicy },
  headers: { Location: `/api/v1/files/${fileId}` },
});

/** Refuses an upload, of up to so many bytes where that is known, by someone who has too much here. */
async function checkRoom(db: Db, userId: string, contentType: string, bytes = 1): Promise<void> {
  const { unfinished, documentBytes, announcedBytes } = await findUploads(db, userId);
  if (unfinished >= MOST_UNFINISHED)
    throw conflict(`${MOST_UNFINISHED} of your uploads are not finished: finish or delete one first.`);
  if (!isImage(contentType) && documentBytes + announcedBytes + bytes > MOST_DOCUMENT_BYTES) throw documentsFull();
}

/** Writes down that a file is about to come in, if there is room for it; a user's begin one after the other, as each takes room. */
const begin = (userId: string, file: NewFile): Promise<string> =>
  transaction(async (tx) => {
    await lockUploads(tx, userId);
    await checkRoom(tx, userId, file.contentType, file.inParts?.size);
    return await insertFile(tx, userId, file);
  });

/** Puts a file into storage as it comes in; answers its id, or null when it is too large for that. */
async function store(userId: string, contentType: string, body: Readable, requestId: string): Promise<string | null> {
  const name = newFileName();
  const key = keyOf(contentType, name);
  const expiresAt = new Date(Date.now() + DIRECT_MS);
  const id = await begin(userId, { name, contentType, inParts: null, expiresAt });
  try {
    await storage.put(key, body, contentType);
  } catch (error) {
    await deleteUnfinishedFile(sql, id);
    if (error instanceof ApiError && error.code === "PAYLOAD_TOO_LARGE") return null;
    throw error;
  }
  await settle({ id, name, contentType, userId }, (await storage.size(key)) ?? 0, requestId);
  return id;
}

/** What is wrong with a file that is of another type than its upload began with; null when it is as it was said to be. */
async function otherThan({ name, contentType }: FileRow): Promise<ApiError | null> {
  const beginning = storage.read(keyOf(contentType, name), { start: 0, end: HEAD_BYTES - 1 });
  const head = await buffer(
    await beginning.catch((error: unknown) => {
      throw error instanceof NoFile ? notFound("This upload") : error;
    }),
  );
  const found = await detectType(head);
  if (found === null) return notAccepted();
  return found === contentType ? null : unsupported(`This is ${found}, and its upload began as ${contentType}.`);
}

/** Tells how an upload that was begun goes on; its addresses are new each time. */
async function presentPolicy({ id, name, contentType, size, uploadId, expiresAt }: PartsFile) {
  const upload = { key: keyOf(contentType, name), uploadId };
  const numbers = Array.from({ length: Math.ceil(size / PART_BYTES) }, (_, index) => index + 1);
  const parts = numbers.map(async (partNumber) => ({
    partNumber,
    url: await storage.partUrl(upload, partNumber, expiresAt),
    method: "PUT" as const,
  }));
  return {
    uploadId,
    partSize: PART_BYTES,
    parts: await Promise.all(parts),
    completeUrl: `${config.PUBLIC_URL}/api/v1/files/${id}/complete`,
    expiresAt: expiresAt.toISOString(),
  };
}

/** Lets a file of up to `bytes` come in parts. */
async function beginParts(userId: string, contentType: string, bytes: number) {
  const name = newFileName();
  const upload = await storage.beginParts(keyOf(contentType, name), contentType);
  const expiresAt = new Date(Date.now() + PARTS_MS);
  const inParts = { uploadId: upload.uploadId, size: bytes };
  const fileId = await begin(userId, { name, contentType, inParts, expiresAt }).catch(async (error: unknown) => {
    await storage.dropParts(upload);
    throw error;
  });
  return later(fileId, await presentPolicy({ id: fileId, name, contentType, ...inParts, expiresAt }));
}

export const files = section({ prefix: "/files", tag: "Files" });

files.post(
  "/upload",
  {
    summary: "Upload an image or a PDF",
    description:
      "JPEG, PNG, WebP, AVIF, GIF or PDF, as its content says, and the part's Content-Type must say the same (or " +
      "`application/octet-stream`). Images become WebP, upright, without metadata and at most 2048 pixels wide and high. " +
      "Above 10 MB the answer is 202 with an `uploadPolicy`: nothing has been kept, and the same file is to come in parts. " +
      "409 for whoever has 50 unfinished uploads, or more than 1 GB of documents with this one; documents that are still to " +
      "come in parts count with the size that was announced.",
    auth: "USER",
    upload: { part: "file" },
    answers: {
      201: StoredFile,
      202: Pending.describe(
        "With `uploadPolicy`: the file is to come in parts. Without: it has come in, and is at `Location` once it is converted.",
      ),
    },
    errors: ["400 BAD_REQUEST", "400 VALIDATION_ERROR", "400 UNSUPPORTED_MEDIA_TYPE", "404 NOT_FOUND", "409 CONFLICT"],
  },
  async ({ user, incoming, gone, requestId }) => {
    const maxBytes = config.MAX_UPLOAD_BYTES;
    const file = await receiveFile(incoming, { part: "file", maxBytes, readBytes: DIRECT_BYTES });
    const { declaredType, announcedBytes, body } = file;
    try {
      const { head, whole } = await peek(body, HEAD_BYTES);
      const contentType = await detectType(head);
      if (contentType === null) throw notAccepted();
      if (declaredType !== contentType && !saysNothing(declaredType)) throw sentAsAnother(contentType, declaredType);
      await checkRoom(lookups, user.id, contentType);
      const id = (announcedBytes ?? 0) > DIRECT_BYTES ? null : await store(user.id, contentType, whole, requestId);
      if (id === null) return await beginParts(user.id, contentType, announcedBytes ?? maxBytes);
      const stored = await awaitFile(id, gone);
      return stored ? created(present(stored), `/api/v1/files/${id}`) : later(id);
    } finally {
      body.destroy();
    }
  },
);

files.get(
  "/:id",
  {
    summary: "Read an own file",
    description: "202 while it is still coming in or being converted.",
    auth: "USER",
    params: IdParams,
    answers: {
      200: StoredFile,
      202: Pending.describe(
        "With `uploadPolicy`: it is still to come in parts, at new addresses. Without: look again later.",
      ),
    },
    errors: ["400 UNSUPPORTED_MEDIA_TYPE"],
  },
  async ({ user, params }) => {
    const file = await findOwnFile(lookups, params.id, user.id);
    if (!file || file.expired) throw notFound("This file");
    if (file.status === "REFUSED") throw unreadable();
    if (file.status === "READY") return ok(present(file));
    return later(file.id, comesInParts(file) ? await presentPolicy(file) : undefined);
  },
);

/** Joins the parts of an upload; answers how many bytes they came to. */
async function join(upload: PartsUpload, parts: z.output<typeof Parts>, fileId: string): Promise<number> {
  try {
    await storage.joinParts(upload, parts);
  } catch (error) {
    if (!(error instanceof WrongParts)) throw error;
    // joined before, by a request that was cut short
    const size = await storage.size(upload.key);
    if (size !== null) return size;
    if (!(await isKept(contended, fileId))) throw notFound("This upload");
    throw new ApiError(400, "VALIDATION_ERROR", `parts: ${error.message}`, {
      errors: [{ path: "parts", message: error.message }],
    });
  }
  return (await storage.size(upload.key)) ?? 0;
}

files.post(
  "/:id/complete",
  {
    summary: "Finish an upload that came in parts",
    description:
      "Answers as the upload of a smaller file does. It may be repeated. Without all parts from the first on nothing happens.",
    auth: "USER",
    params: IdParams,
    body: z.object({ parts: Parts }),
    answers: { 201: StoredFile, 202: Pending },
    errors: ["404 NOT_FOUND", "400 UNSUPPORTED_MEDIA_TYPE", "409 CONFLICT", "413 PAYLOAD_TOO_LARGE"],
  },
  async ({ user, params, body, gone, requestId }) => {
    const file = await findOwnFile(lookups, params.id, user.id);
    if (!file || file.expired) throw notFound("This upload");
    if (file.status === "UPLOADING") {
      if (!comesInParts(file)) throw notFound("This upload");
      const upload = { key: keyOf(file.contentType, file.name), uploadId: file.uploadId };
      const own = { ...file, userId: user.id };
      const size = await join(upload, body.parts, file.id);
      const refusal = size > config.MAX_UPLOAD_BYTES ? tooLarge(config.MAX_UPLOAD_BYTES) : await otherThan(file);
      if (refusal) {
        await dropUpload(own);
        throw refusal;
      }
      await settle(own, size, requestId);
    }
    const stored = await awaitFile(file.id, gone);
    return stored ? created(present(stored), `/api/v1/files/${file.id}`) : later(file.id);
  },
);
