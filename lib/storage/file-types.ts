import { fileTypeFromBuffer } from "file-type";

/** How many of a file's first bytes tell what it is. */
export const HEAD_BYTES = 4_100;

/** What is accepted, by media type; images are converted, the rest is kept as it is. */
const accepted: Readonly<Record<string, "image" | "document">> = {
  "image/jpeg": "image",
  "image/png": "image",
  "image/webp": "image",
  "image/avif": "image",
  "image/gif": "image",
  "application/pdf": "document",
};

/** Names in use for what has another name officially, or is a kind of it. */
const synonyms: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/apng": "image/png",
  "application/x-pdf": "application/pdf",
};

/** The official name of a media type, without parameters. */
export function mediaType(name: string): string {
  const bare = (name.split(";")[0] ?? "").trim().toLowerCase();
  return synonyms[bare] ?? bare;
}

/** What a client sends that does not look at its files. */
export const saysNothing = (type: string): boolean => type === "application/octet-stream";

/** The media type of a file that begins so; null for what is not accepted. */
export async function detectType(head: Uint8Array): Promise<string | null> {
  const found = await fileTypeFromBuffer(head);
  const type = found && mediaType(found.mime);
  return type !== undefined && Object.hasOwn(accepted, type) ? type : null;
}

export const isImage = (type: string): boolean => accepted[type] === "image";
