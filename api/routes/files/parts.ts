import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import type { ApiError } from "../../../lib/process/errors.js";
import { files as storage, newFileName, partAddress } from "../../../lib/storage/file-store.js";
import { detectType, HEAD_BYTES } from "../../../lib/storage/file-types.js";
import { NoFile, WrongParts } from "../../../lib/storage/storage.js";
import { contended, lookups } from "../../../sql/db.js";
import { findOwnFile, fileStillExists, type FileRow } from "../../../sql/queries/files.js";
import { section } from "../../http/endpoint.js";
import { invalidFields, notFound } from "../../http/refusals.js";
import { MB, type IncomingFile } from "../../http/upload.js";
import { answerSettled, beginUpload, dropUpload, keyOf, settleUpload } from "./lifecycle.js";
import { begunAsAnother, notAccepted, settleErrors } from "./refusals.js";
import { later, Pending, StoredFile, type UploadPolicy } from "./stored-file.js";

// A file above 10 MB is uploaded in parts, directly to the storage, so that little is lost when a connection breaks.

export const PART_BYTES = 8 * MB;
/** The time limit for all parts together. */
const PARTS_MS = 6 * 60 * 60_000;

/** A file that is being uploaded in parts. */
interface PartsFile extends Pick<FileRow, "id" | "name" | "contentType"> {
  size: number;
  leastSize: number;
  uploadId: string;
  expiresAt: Date;
}

export const comesInParts = (file: FileRow): file is FileRow & PartsFile =>
  file.uploadId !== null && file.size !== null && file.leastSize !== null && file.expiresAt !== null;

/**
 * Returns how to continue an upload that has begun; its addresses are new each time. A bucket gets the full parts directly: it
 * can be signed for a part of one size, not for any up to a limit. This service takes those in which the file may end.
 */
export async function presentPolicy(file: PartsFile): Promise<z.output<typeof UploadPolicy>> {
  const { size: most, leastSize, uploadId, expiresAt } = file;
  const fullParts = Math.floor(leastSize / PART_BYTES);
  const upload = { key: keyOf(file), uploadId };
  const numbers = Array.from({ length: Math.ceil(most / PART_BYTES) }, (_, index) => index + 1);
  const parts = numbers.map(async (partNumber) => {
    const size = partNumber <= fullParts ? PART_BYTES : null;
    const direct = size === null ? null : await storage.partUrl(upload, partNumber, size, expiresAt);
    const url = direct ?? partAddress(upload, partNumber, size, expiresAt);
    return { partNumber, url, method: "PUT" as const, size };
  });
  return {
    uploadId,
    partSize: PART_BYTES,
    parts: await Promise.all(parts),
    completeUrl: `${config.PUBLIC_URL}/api/v1/files/${file.id}/complete`,
    expiresAt,
  };
}

/** Begins an upload in parts of a file, and returns 202 with its policy. */
export async function beginParts(
  userId: string,
  contentType: string,
  { leastBytes, mostBytes }: Pick<IncomingFile, "leastBytes" | "mostBytes">,
) {
  const name = newFileName();
  const upload = await storage.beginParts(keyOf({ contentType, name }), contentType);
  const expiresAt = new Date(Date.now() + PARTS_MS);
  const inParts = { uploadId: upload.uploadId, size: mostBytes, leastSize: leastBytes };
  const fileId = await beginUpload(userId, { name, contentType, inParts, expiresAt }).catch(async (error: unknown) => {
    await storage.dropParts(upload);
    throw error;
  });
  return later(fileId, await presentPolicy({ id: fileId, name, contentType, ...inParts, expiresAt }));
}

/** Joins the parts of an upload and returns the file's size; works also when an interrupted request has joined them. */
async function join(file: FileRow & PartsFile, parts: z.output<typeof Parts>): Promise<number> {
  const upload = { key: keyOf(file), uploadId: file.uploadId };
  const sizes = { least: file.leastSize, most: file.size };
  const wrong = await storage.joinParts(upload, parts, sizes).catch((error: unknown) => {
    if (error instanceof WrongParts) return error;
    throw error;
  });
  const size = await storage.size(upload.key);
  if (size !== null) return size;
  if (!wrong || !(await fileStillExists(contended, file.id))) throw notFound("This upload");
  throw invalidFields("VALIDATION_ERROR", [{ path: "parts", message: wrong.message }]);
}

/** Returns why a joined file is refused: its type is not the announced one; null when it is accepted. */
async function refusalOf(file: FileRow): Promise<ApiError | null> {
  const beginning = await storage.read(keyOf(file), { start: 0, end: HEAD_BYTES - 1 }).catch((error: unknown) => {
    throw error instanceof NoFile ? notFound("This upload") : error;
  });
  const { contentType } = file;
  const detected = await detectType(await buffer(beginning));
  if (detected === null) return notAccepted();
  return detected === contentType ? null : begunAsAnother({ contentType: detected, begun: contentType });
}

const Parts = z
  .array(z.object({ partNumber: z.int().min(1).max(10_000).meta({ example: 1 }), etag: z.string().min(1).max(200) }))
  .min(1)
  .max(1_000)
  .superRefine((parts, context) => {
    const numbers = new Set(parts.map(({ partNumber }) => partNumber));
    if (numbers.size < parts.length) context.addIssue({ code: "custom", message: "must name each part once" });
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
    name: "completeUpload",
    summary: "Finish an upload in parts",
    description:
      "Responds like the upload of a smaller file, and may be repeated. When a part is missing, or the parts together have " +
      "another size than the file was announced with, nothing changes.",
    auth: "USER",
    body: z.object({ parts: Parts }),
    answers: { 201: StoredFile, 202: Pending },
    waits: true,
    errors: [begunAsAnother, ...settleErrors],
  },
  async ({ user, params, body, gone, requestId }) => {
    const file = await findOwnFile(lookups, params.id, user.id);
    if (!file || file.expired) throw notFound("This upload");
    if (file.status === "UPLOADING") {
      if (!comesInParts(file)) throw notFound("This upload");
      const own = { ...file, userId: user.id };
      const size = await join(file, body.parts);
      const refusal = await refusalOf(file);
      if (refusal) {
        await dropUpload(own);
        throw refusal;
      }
      await settleUpload(own, size, requestId);
    }
    return await answerSettled(file.id, gone);
  },
);
