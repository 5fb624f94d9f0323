import { z } from "zod";
import { DOCUMENT_SECONDS, documentAddress, imageAddress, thumbnailAddress } from "../../../lib/storage/file-store.js";
import { isImage } from "../../../lib/storage/file-types.js";
import { formatWait } from "../../../lib/outbound/retry-after.js";
import type { FileRow } from "../../../sql/queries/files.js";
import { Id, Timestamp } from "../../http/schemas.js";

/** A file that is ready, as its owner sees it. */
export const StoredFile = z
  .object({
    fileId: Id,
    url: z.url().meta({
      description: `an image's is public and lasts; a document's works for ${formatWait(DOCUMENT_SECONDS)}, and reading the file gives another`,
    }),
    contentType: z.string().meta({ example: "image/webp" }),
    size: z.int().meta({ description: "bytes of what `url` serves" }),
    thumbnailUrl: z.url().nullable().meta({ description: "at most 400 pixels; images only" }),
    width: z.int().nullable(),
    height: z.int().nullable(),
  })
  .meta({ id: "StoredFile" });

/** Shows a file that is ready. */
export const present = (file: FileRow): z.output<typeof StoredFile> => {
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

/** How a large file comes in parts. */
export const UploadPolicy = z
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

/** A file that is not ready yet. */
export const Pending = z.object({ fileId: Id, uploadPolicy: UploadPolicy.optional() });

/** Answers 202 for a file that is not ready yet, with where to read it later. */
export const later = (fileId: string, uploadPolicy?: z.output<typeof UploadPolicy>) => ({
  status: 202 as const,
  body: { fileId, uploadPolicy },
  headers: { Location: `/api/v1/files/${fileId}` },
});
