import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { ApiError } from "../../../lib/process/errors.js";
import { files as storage, newFileName } from "../../../lib/storage/file-store.js";
import { detectType, HEAD_BYTES, isUnspecified } from "../../../lib/storage/file-types.js";
import { sql } from "../../../sql/db.js";
import { deleteUnfinishedFile } from "../../../sql/queries/files.js";
import { section } from "../../http/endpoint.js";
import { notFound } from "../../http/refusals.js";
import { shownAs } from "../../http/schemas.js";
import { fileTooLarge, MB, peek, receiveFile, type IncomingFile } from "../../http/upload.js";
import { answerSettled, beginUpload, keyOf, settleUpload } from "./lifecycle.js";
import { beginParts } from "./parts.js";
import { declaredAsAnother, notAccepted, settleErrors } from "./refusals.js";
import { Pending, StoredFile } from "./stored-file.js";

/** A larger file is uploaded in parts, so that a broken connection loses little. */
const DIRECT_BYTES = 10 * MB;
/** The time limit for a direct upload. */
const DIRECT_MS = 60 * 60_000;

/** What the client declared, for the refusal; in forms a part without a type counts as `text/plain`. */
const presentDeclared = (declared: string) =>
  declared === "text/plain" ? "text/plain or none" : /^[\w.+/-]{1,60}$/.test(declared) ? declared : null;

/** Streams a file into storage and settles it; returns its id, or null when it is larger than `DIRECT_BYTES`. */
async function store(
  userId: string,
  contentType: string,
  file: IncomingFile,
  requestId: string,
): Promise<string | null> {
  const name = newFileName();
  const expiresAt = new Date(Date.now() + DIRECT_MS);
  const id = await beginUpload(userId, { name, contentType, inParts: null, expiresAt });
  try {
    await storage.put(keyOf({ contentType, name }), file.body, contentType);
  } catch (error) {
    await deleteUnfinishedFile(sql, id);
    if (error instanceof ApiError && error.code === "PAYLOAD_TOO_LARGE") return null;
    throw error;
  }
  await settleUpload({ id, name, contentType, userId }, file.receivedBytes(), requestId);
  return id;
}

const FileSize = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, "must be a number of bytes")
  .transform(Number)
  .meta({
    description: `uploads a file of so many bytes in parts, whatever its size; the form needs only its first ${HEAD_BYTES} bytes`,
    override: shownAs({ type: "integer", minimum: 1 }),
    example: 18_874_368,
  });

export const uploads = section({ prefix: "/files", tag: "Files" });

uploads.post(
  "/upload",
  {
    name: "uploadFile",
    summary: "Upload an image or a PDF",
    description:
      "JPEG, PNG, WebP, AVIF, GIF or PDF by its content; the part's Content-Type must match (or be " +
      "`application/octet-stream`). Images become WebP, upright, without metadata and at most 2048 pixels wide and high. " +
      "Above 10 MB, and with `size`, the response is 202 with an `uploadPolicy`: nothing has been stored, send the same file in " +
      "parts. " +
      `409: ${config.OPEN_UPLOADS} of the user's uploads, or ${config.OPEN_UPLOAD_BYTES} bytes of them, are unfinished or wait for ` +
      "their conversion, or the user has more than 1 GB of documents with this one; unfinished uploads in parts " +
      "count with their announced size.",
    auth: "USER",
    query: z.object({ size: FileSize.optional() }),
    upload: { part: "file" },
    answers: {
      201: StoredFile,
      202: Pending.describe(
        "With `uploadPolicy`: send the file in parts. Without: it is stored, and is at `Location` after its conversion.",
      ),
    },
    errors: [notFound, declaredAsAnother, ...settleErrors],
  },
  async ({ user, query: { size }, incoming, gone, requestId }) => {
    const maxBytes = config.MAX_UPLOAD_BYTES;
    if (size !== undefined && size > maxBytes) throw fileTooLarge({ maxBytes });
    const file = await receiveFile(incoming, { part: "file", maxBytes, readBytes: DIRECT_BYTES });
    const { declaredType, leastBytes, body } = file;
    try {
      const { head, whole } = await peek(body, HEAD_BYTES);
      const contentType = await detectType(head);
      if (contentType === null) throw notAccepted();
      if (declaredType !== contentType && !isUnspecified(declaredType))
        throw declaredAsAnother({ contentType, declared: presentDeclared(declaredType) });
      if (size !== undefined) return await beginParts(user.id, contentType, { leastBytes: size, mostBytes: size });
      const isLarge = leastBytes > DIRECT_BYTES;
      const id = isLarge ? null : await store(user.id, contentType, { ...file, body: whole }, requestId);
      return id === null ? await beginParts(user.id, contentType, file) : await answerSettled(id, gone);
    } finally {
      body.destroy();
    }
  },
);
