import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { config } from "../../lib/config.js";
import { ApiError, conflict, notFound } from "../../lib/errors.js";
import {
  deleteFile,
  deleteStored,
  documentAddress,
  files as storage,
  imageAddress,
  keysOf,
  newFileName,
  thumbnailAddress,
} from "../../lib/file-store.js";
import { detectType, HEAD_BYTES, isImage } from "../../lib/file-types.js";
import { WrongParts, type PartsUpload } from "../../lib/storage.js";
import { images } from "../../queues/index.js";
import { isForeignKeyViolation, lookups, sql, transaction } from "../../sql/db.js";
import {
  deleteOwnFile,
  deleteUnfinishedFile,
  findFile,
  findOwnFile,
  insertFile,
  updateDocumentReady,
  updateFileStored,
  type FileRow,
} from "../../sql/queries/files.js";
import { stageJob } from "../../sql/queries/staged-jobs.js";
import { awaitResult, poke } from "../../sql/signals.js";
import { created, noContent, ok, section } from "../endpoint.js";
import { Id, IdParams, Timestamp } from "../schemas.js";
import { peek, receiveFile, tooLarge } from "../upload.js";

const MB = 1_048_576;
/** Above this a file comes in parts, so that what a bad line breaks off is little. */
const DIRECT_BYTES = 10 * MB;
export const PART_BYTES = 8 * MB;
/** How long an upload may take, in one piece or in parts. */
const DIRECT_MS = 60 * 60_000;
const PARTS_MS = 6 * 60 * 60_000;

const StoredFile = z
  .object({
    fileId: Id,
    url: z.url().meta({
      description:
        "an image's is public and lasts; a document's works for 15 minutes, and reading the file gives another",
    }),
    contentType: z.string().meta({ example: "image/webp" }),
    size: z.int().meta({ description: "bytes of what `url` serves" }),
    thumbnailUrl: z.url().nullable().meta({ description: "at most 400 pixels; images only" }),
    width: z.int().nullable(),
    height: z.int().nullable(),
  })
  .meta({ id: "StoredFile" });

const UploadPolicy = z
  .object({
    uploadId: z.string(),
    partSize: z.int().meta({ description: "bytes of each part but the last" }),
    parts: z.array(z.object({ partNumber: z.int(), url: z.url(), method: z.literal("PUT") })).meta({
      description: "send as many as the file has, without a token, and keep the `ETag` that each answers",
    }),
    completeUrl: z.url(),
    expiresAt: Timestamp,
  })
  .meta({ id: "UploadPolicy" });

const Pending = z.object({ fileId: Id });

const Parts = z
  .array(z.object({ partNumber: z.int().min(1).max(10_000).meta({ example: 1 }), etag: z.string().min(1).max(200) }))
  .min(1)
  .max(1_000)
  .refine(
    (parts) => new Set(parts.map(({ partNumber }) => partNumber)).size === parts.length,
    "must be different parts",
  )
  .meta({
    description: "each part with the `ETag` that its upload answered",
    example: [{ partNumber: 1, etag: '"5d41402abc4b2a76b9719d911017c592"' }],
  });

const present = (file: FileRow): z.output<typeof StoredFile> => {
  const image = isImage(file.contentType);
  return {
    fileId: file.id,
    url: image ? imageAddress(file.name) : documentAddress(file.name),
    contentType: file.contentType,
    size: file.size ?? 0,
    thumbnailUrl: image ? thumbnailAddress(file.name) : null,
    width: file.width,
    height: file.height,
  };
};

const unsupported = (detail: string) => new ApiError(400, "UNSUPPORTED_MEDIA_TYPE", detail);
const notAccepted = () => unsupported("Only JPEG, PNG, WebP, AVIF and GIF images and PDF documents are accepted.");
const unreadable = () => unsupported("This image cannot be read: it is damaged, or larger than 50 megapixels.");

const sentAsAnother = (type: string) => unsupported(`This is ${type}, and was sent as something else.`);

const keyOf = (contentType: string, name: string) => keysOf(name)[isImage(contentType) ? "original" : "document"];

/** Settles an upload, all of which lies in storage: an image goes to a worker, a document is ready. */
async function settle(id: string, contentType: string, size: number, requestId: string): Promise<void> {
  await transaction(async (tx) => {
    if (!isImage(contentType)) await updateDocumentReady(tx, id, size);
    else if (await updateFileStored(tx, id, size)) await stageJob(tx, images, { fileId: id }, { requestId });
  });
  poke("staged_jobs");
}

/** Waits for a file that has come in to be settled; null when that takes too long. */
const awaitFile = (id: string, abort: AbortSignal): Promise<FileRow | null> =>
  awaitResult({ name: "file", id, deadlineMs: config.SYNC_WAIT_MS, abort }, async () => {
    const file = await findFile(lookups, id);
    if (file?.status === "REFUSED") throw unreadable();
    return file?.status === "READY" ? file : null;
  });

const later = (fileId: string) => ({
  status: 202 as const,
  body: { fileId },
  headers: { Location: `/api/v1/files/${fileId}` },
});

/** Puts a file into storage as it comes in; answers its id, or null when it is too large for that. */
async function store(userId: string, contentType: string, body: Readable, requestId: string): Promise<string | null> {
  const name = newFileName();
  const key = keyOf(contentType, name);
  const expiresAt = new Date(Date.now() + DIRECT_MS);
  const id = await insertFile(sql, userId, { name, contentType, uploadId: null, expiresAt });
  try {
    await storage.put(key, body, contentType);
  } catch (error) {
    await deleteUnfinishedFile(sql, id);
    if (error instanceof ApiError && error.code === "PAYLOAD_TOO_LARGE") return null;
    throw error;
  }
  await settle(id, contentType, (await storage.size(key)) ?? 0, requestId);
  return id;
}

/** What is wrong with a file that is of another type than its upload began with; null when it is as it was said to be. */
async function otherThan({ name, contentType }: FileRow): Promise<ApiError | null> {
  const head = await buffer(await storage.read(keyOf(contentType, name), { start: 0, end: HEAD_BYTES - 1 }));
  const found = await detectType(head);
  if (found === null) return notAccepted();
  return found === contentType ? null : sentAsAnother(found);
}

/** Lets a file of up to `bytes` come in parts. */
async function beginParts(userId: string, contentType: string, bytes: number) {
  const name = newFileName();
  const upload = await storage.beginParts(keyOf(contentType, name), contentType);
  const expiresAt = new Date(Date.now() + PARTS_MS);
  const fileId = await insertFile(sql, userId, { name, contentType, uploadId: upload.uploadId, expiresAt });
  const numbers = Array.from({ length: Math.ceil(bytes / PART_BYTES) }, (_, index) => index + 1);
  const parts = numbers.map(async (partNumber) => ({
    partNumber,
    url: await storage.partUrl(upload, partNumber, expiresAt),
    method: "PUT" as const,
  }));
  const uploadPolicy = {
    uploadId: upload.uploadId,
    partSize: PART_BYTES,
    parts: await Promise.all(parts),
    completeUrl: `${config.PUBLIC_URL}/api/v1/files/${fileId}/complete`,
    expiresAt: expiresAt.toISOString(),
  };
  return { status: 202 as const, body: { fileId, uploadPolicy }, headers: { Location: `/api/v1/files/${fileId}` } };
}

export const files = section({ prefix: "/files", tag: "Files" });

files.post(
  "/upload",
  {
    summary: "Upload an image or a PDF",
    description:
      "Images become WebP, upright, without metadata and at most 2048 pixels wide and high. Above 10 MB the answer is 202 " +
      "with an `uploadPolicy` in place of the file's address: the same file then comes in parts. Without a policy, 202 says " +
      "that the conversion takes longer: `Location` has the result later.",
    auth: "USER",
    upload: { part: "file" },
    answers: { 201: StoredFile, 202: z.object({ fileId: Id, uploadPolicy: UploadPolicy.optional() }) },
    errors: ["400 BAD_REQUEST", "400 VALIDATION_ERROR", "400 UNSUPPORTED_MEDIA_TYPE"],
  },
  async ({ user, incoming, gone, requestId }) => {
    const maxBytes = config.MAX_UPLOAD_BYTES;
    const file = await receiveFile(incoming, { part: "file", maxBytes, readBytes: DIRECT_BYTES });
    const { declaredType, announcedBytes, body } = file;
    try {
      const { head, whole } = await peek(body, HEAD_BYTES);
      const contentType = await detectType(head);
      if (contentType === null) throw notAccepted();
      if (declaredType !== contentType) throw sentAsAnother(contentType);
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
    answers: { 200: StoredFile, 202: Pending },
    errors: ["400 UNSUPPORTED_MEDIA_TYPE"],
  },
  async ({ user, params }) => {
    const file = await findOwnFile(lookups, params.id, user.id);
    if (!file || file.expired) throw notFound("This file");
    if (file.status === "REFUSED") throw unreadable();
    return file.status === "READY" ? ok(present(file)) : { status: 202 as const, body: { fileId: file.id } };
  },
);

/** Joins the parts of an upload; answers how many bytes they came to. */
async function join(upload: PartsUpload, parts: z.output<typeof Parts>): Promise<number> {
  try {
    await storage.joinParts(upload, parts);
  } catch (error) {
    if (!(error instanceof WrongParts)) throw error;
    // joined before, by a request that was cut short
    const size = await storage.size(upload.key);
    if (size !== null) return size;
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
    description: "Answers as the upload of a smaller file does. It may be repeated.",
    auth: "USER",
    params: IdParams,
    body: z.object({ parts: Parts }),
    answers: { 201: StoredFile, 202: Pending },
    errors: ["404 NOT_FOUND", "400 UNSUPPORTED_MEDIA_TYPE", "413 PAYLOAD_TOO_LARGE"],
  },
  async ({ user, params, body, gone, requestId }) => {
    const file = await findOwnFile(lookups, params.id, user.id);
    if (!file || file.expired) throw notFound("This upload");
    if (file.status === "UPLOADING") {
      if (file.uploadId === null) throw notFound("This upload");
      const upload = { key: keyOf(file.contentType, file.name), uploadId: file.uploadId };
      const size = await join(upload, body.parts);
      const refusal = size > config.MAX_UPLOAD_BYTES ? tooLarge(config.MAX_UPLOAD_BYTES) : await otherThan(file);
      if (refusal) {
        await deleteFile(file.name);
        await deleteUnfinishedFile(sql, file.id);
        throw refusal;
      }
      await settle(file.id, file.contentType, size, requestId);
    }
    const stored = await awaitFile(file.id, gone);
    return stored ? created(present(stored), `/api/v1/files/${file.id}`) : later(file.id);
  },
);

files.delete(
  "/:id",
  {
    summary: "Delete an own file",
    description: "An image that is shown somewhere has to be replaced there first.",
    auth: "USER",
    params: IdParams,
    answers: { 204: null },
    errors: ["409 CONFLICT"],
  },
  async ({ user, params }) => {
    await transaction(async (tx) => {
      const deleted = await deleteOwnFile(tx, params.id, user.id);
      if (deleted) await deleteStored(deleted);
      else if (await findOwnFile(tx, params.id, user.id)) throw conflict("This file is being converted.");
      else throw notFound("This file");
    }).catch((error: unknown) => {
      throw isForeignKeyViolation(error) ? conflict("This image is shown somewhere.") : error;
    });
    return noContent();
  },
);
