import { z } from "zod";
import { DOCUMENT_SECONDS, documentAddress, imageAddress, thumbnailAddress } from "../../../lib/storage/file-store.js";
import { isImage } from "../../../lib/storage/file-types.js";
import { formatWait } from "../../../lib/outbound/retry-after.js";
import type { FileRow } from "../../../sql/queries/files.js";
import { accepted } from "../../http/endpoint.js";
import { Id, Timestamp } from "../../http/schemas.js";

/** A file that is ready, as its owner sees it. */
export const StoredFile = z
  .object({
    fileId: Id,
    url: z.url().meta({
      description: `permanent and public for an image; for a document valid for ${formatWait(DOCUMENT_SECONDS)}: read the file for a new one`,
    }),
    contentType: z.string().meta({ example: "image/webp" }),
    size: z.int().meta({ description: "bytes at `url`" }),
    thumbnailUrl: z.url().nullable().meta({ description: "at most 400 pixels; images only" }),
    width: z.int().nullable(),
    height: z.int().nullable(),
  })
  .meta({ id: "StoredFile" });

/** Presents a file that is ready. */
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

const UploadPart = z.object({
  partNumber: z.int(),
  url: z.url(),
  method: z.literal("PUT"),
  size: z.int().nullable().meta({
    description:
      "exactly how many bytes this part has; null where the file may end: `partSize`, or what is left of the file",
  }),
});

/** How to upload a large file in parts. */
export const UploadPolicy = z
  .object({
    uploadId: z.string(),
    partSize: z.int().meta({ description: "bytes of each part except the last" }),
    parts: z.array(UploadPart).meta({
      description:
        "where to send each part: its bytes as the body, with Content-Length and without a token; keep the `ETag` of the " +
        "response. A part may be sent again. There may be more addresses than parts",
    }),
    completeUrl: z.url().meta({
      description: "where to POST `{parts: [{partNumber, etag}]}`, with your token, after all parts",
    }),
    expiresAt: Timestamp.meta({ description: "when the upload expires" }),
  })
  .meta({
    id: "UploadPolicy",
    description:
      "How to upload a large file: cut it after every `partSize` bytes, PUT each part to its `url`, and finish at " +
      "`completeUrl`.",
  });

/** A file that is not ready yet. */
export const Pending = z.object({ fileId: Id, uploadPolicy: UploadPolicy.optional() });

/** Returns 202 for a file that is not ready yet, with its address. */
export const later = (fileId: string, uploadPolicy?: z.output<typeof UploadPolicy>) =>
  accepted({ fileId, uploadPolicy }, `/api/v1/files/${fileId}`);
