import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { ApiError, notFound } from "../../../lib/process/errors.js";
import { files as storage, newFileName } from "../../../lib/storage/file-store.js";
import { detectType, HEAD_BYTES } from "../../../lib/storage/file-types.js";
import { NoFile, WrongParts, type PartsUpload } from "../../../lib/storage/storage.js";
import { contended, lookups } from "../../../sql/db.js";
import { findOwnFile, fileStillExists, type FileRow } from "../../../sql/queries/files.js";
import { section } from "../../http/endpoint.js";
import { IdParams } from "../../http/schemas.js";
import { tooLarge } from "../../http/upload.js";
import { answerSettled, beginUpload, dropUpload, keyOf, settleUpload } from "./lifecycle.js";
import { notAccepted, unsupported } from "./refusals.js";
import { later, Pending, StoredFile, type UploadPolicy } from "./stored-file.js";

// A file above 10 MB is uploaded in parts, directly to the storage, so that little is lost when a connection breaks.

const MB = 1_048_576;
export const PART_BYTES = 8 * MB;
/** The time limit for all parts together. */
const PARTS_MS = 6 * 60 * 60_000;

/** A file that is being uploaded in parts. */
interface PartsFile extends Pick<FileRow, "id" | "name" | "contentType"> {
  size: number;
  uploadId: string;
  expiresAt: Date;
}

export const comesInParts = (file: FileRow): file is FileRow & PartsFile =>
  file.uploadId !== null && file.size !== null && file.expiresAt !== null;

/** Returns how to continue an upload that has begun; its addresses are new each time. */
export async function presentPolicy({
  id,
  name,
  contentType,
  size,
  uploadId,
  expiresAt,
}: PartsFile): Promise<z.output<typeof UploadPolicy>> {
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

/** Begins an upload in parts of a file of up to `bytes`, and returns 202 with its policy. */
export async function beginParts(userId: string, contentType: string, bytes: number) {
  const name = newFileName();
  const upload = await storage.beginParts(keyOf(contentType, name), contentType);
  const expiresAt = new Date(Date.now() + PARTS_MS);
  const inParts = { uploadId: upload.uploadId, size: bytes };
  const fileId = await beginUpload(userId, { name, contentType, inParts, expiresAt }).catch(async (error: unknown) => {
    await storage.dropParts(upload);
    throw error;
  });
  return later(fileId, await presentPolicy({ id: fileId, name, contentType, ...inParts, expiresAt }));
}

/** Joins the parts of an upload and returns the file's size; works also when an interrupted request has joined them. */
async function join(upload: PartsUpload, parts: z.output<typeof Parts>, fileId: string): Promise<number> {
  const wrong = await storage.joinParts(upload, parts).catch((error: unknown) => {
    if (error instanceof WrongParts) return error;
    throw error;
  });
  const size = await storage.size(upload.key);
  if (size !== null) return size;
  if (!wrong || !(await fileStillExists(contended, fileId))) throw notFound("This upload");
  throw new ApiError(400, "VALIDATION_ERROR", `parts: ${wrong.message}`, {
    errors: [{ path: "parts", message: wrong.message }],
  });
}

/** Returns why a joined file is refused: its size, or a type other than announced; null when it is accepted. */
async function refusalOf({ name, contentType }: FileRow, size: number): Promise<ApiError | null> {
  if (size > config.MAX_UPLOAD_BYTES) return tooLarge(config.MAX_UPLOAD_BYTES);
  const beginning = storage.read(keyOf(contentType, name), { start: 0, end: HEAD_BYTES - 1 });
  const head = await buffer(
    await beginning.catch((error: unknown) => {
      throw error instanceof NoFile ? notFound("This upload") : error;
    }),
  );
  const found = await detectType(head);
  if (found === null) return notAccepted();
  return found === contentType ? null : unsupported(`This is ${found}, but its upload began as ${contentType}.`);
}

const Parts = z
  .array(z.object({ partNumber: z.int().min(1).max(10_000).meta({ example: 1 }), etag: z.string().min(1).max(200) }))
  .min(1)
  .max(1_000)
  .refine(
    (parts) => new Set(parts.map(({ partNumber }) => partNumber)).size === parts.length,
    "must name each part once",
  )
  .superRefine((parts, context) => {
    const numbers = new Set(parts.map(({ partNumber }) => partNumber));
    const missing = parts.findIndex((_part, index) => !numbers.has(index + 1)) + 1;
    if (missing > 0) context.addIssue({ code: "custom", message: `part ${missing} is missing` });
  })
  .meta({
    description: "all parts, each with the `ETag` of its response",
    example: [{ partNumber: 1, etag: '"5d41402abc4b2a76b9719d911017c592"' }],
  });

export const partUploads = section({ prefix: "/files", tag: "Files" });

partUploads.post(
  "/:id/complete",
  {
    summary: "Finish an upload in parts",
    description:
      "Responds like the upload of a smaller file, and may be repeated. When a part is missing, nothing changes.",
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
      const own = { ...file, userId: user.id };
      const size = await join(
        { key: keyOf(file.contentType, file.name), uploadId: file.uploadId },
        body.parts,
        file.id,
      );
      const refusal = await refusalOf(file, size);
      if (refusal) {
        await dropUpload(own);
        throw refusal;
      }
      await settleUpload(own, size, requestId);
    }
    return await answerSettled(file.id, gone);
  },
);
