import { z } from "zod";
import { DOCUMENT_SECONDS, documentAddress, imageAddress, thumbnailAddress } from "../../../lib/storage/file-store.js";
import { isImage } from "../../../lib/storage/file-types.js";
import { waitInWords } from "../../../lib/outbound/retry-after.js";
import type { FileRow } from "../../../sql/queries/files.js";
import { Id } from "../../http/schemas.js";

/** A file that is ready, as its owner sees it. */
export const StoredFile = z
  .object({
    fileId: Id,
    url: z.url().meta({
      description: `an image's is public and lasts; a document's works for ${waitInWords(DOCUMENT_SECONDS)}, and reading the file gives another`,
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
