import { fileTypeFromBuffer } from "file-type";

/** How many of a file's first bytes its type is detected from. */
export const HEAD_BYTES = 4_100;

/** The accepted media types; images are converted, documents are stored as they are. */
const accepted: Readonly<Record<string, "image" | "document">> = {
  "image/jpeg": "image",
  "image/png": "image",
  "image/webp": "image",
  "image/avif": "image",
  "image/gif": "image",
  "application/pdf": "document",
};

/** Unofficial names and subtypes, by the official name. */
const synonyms: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/apng": "image/png",
  "application/x-pdf": "application/pdf",
};

/** Returns the official name of a media type, without parameters. */
export function mediaType(name: string): string {
  const bare = (name.split(";")[0] ?? "").trim().toLowerCase();
  return synonyms[bare] ?? bare;
}

/** Whether the client gave no type of its own. */
export const isUnspecified = (type: string): boolean => type === "application/octet-stream";

/** Detects the media type of a file from its first bytes; null when it is not accepted. */
export async function detectType(head: Uint8Array): Promise<string | null> {
  const found = await fileTypeFromBuffer(head);
  const type = found && mediaType(found.mime);
  return type !== undefined && Object.hasOwn(accepted, type) ? type : null;
}

export const isImage = (type: string): boolean => accepted[type] === "image";
