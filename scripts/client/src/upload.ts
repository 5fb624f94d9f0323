import { done, refusalOf } from "./answers.js";
import { completeUpload, readFile, uploadFile, type StoredFile, type UploadPolicy } from "./operations.js";
import { pause } from "./repeating.js";
import type { Session } from "./session.js";

/** An upload in parts that has begun, and the parts that have arrived. */
export interface BegunUpload {
  fileId: string;
  parts: { partNumber: number; etag: string }[];
}

export interface Progress {
  sentBytes: number;
  totalBytes: number;
  /** Kept by the app, it continues this upload for six hours, also after a restart; null for a file that is sent as a whole. */
  begun: BegunUpload | null;
}

export interface UploadOptions {
  /** An upload of the same file that was cut. */
  begun?: BegunUpload;
  onProgress?: (progress: Progress) => void;
  signal?: AbortSignal;
}

/** A larger file is sent in parts. */
const DIRECT_BYTES = 10 * 1_048_576;
/** How much of a file the API wants to see before it is sent in parts. */
const HEAD_BYTES = 4_100;

/** Sends a part to its address and returns its ETag. */
async function sendPart(url: string, body: Blob, session: Session, signal: AbortSignal | null): Promise<string> {
  const answer = await session.fetchOpen(url, { method: "PUT", body, signal });
  const text = await answer.text();
  if (!answer.ok) throw refusalOf({ status: answer.status, data: text.startsWith("{") ? JSON.parse(text) : text });
  const etag = answer.headers.get("etag");
  if (etag === null) throw new Error("The storage does not show the ETag of a part: its CORS rules must expose it.");
  return etag;
}

/**
 * Uploads an image or a PDF and returns it when it is ready. A file above 10 MB goes in parts, of which only those are sent that
 * have not arrived. Throws `Refused`, and what `fetch` throws.
 */
export async function upload(file: Blob, session: Session, options: UploadOptions = {}): Promise<StoredFile> {
  const { begun, onProgress, signal = null } = options;
  const how = { ...session, signal };
  const report = (sentBytes: number, known: BegunUpload | null) =>
    onProgress?.({ sentBytes, totalBytes: file.size, begun: known });

  /** Sends the parts that have not arrived, and completes the upload. */
  const sendParts = async (fileId: string, { parts, partSize }: UploadPolicy) => {
    const arrived = [...(begun?.parts ?? [])];
    const sentBytes = () =>
      arrived.reduce((sum, { partNumber }) => sum + Math.min(partSize, file.size - (partNumber - 1) * partSize), 0);
    report(sentBytes(), { fileId, parts: [...arrived] });
    for (const { partNumber, url } of parts) {
      const start = (partNumber - 1) * partSize;
      if (start >= file.size || arrived.some((part) => part.partNumber === partNumber)) continue;
      const etag = await sendPart(url, file.slice(start, start + partSize), session, signal);
      arrived.push({ partNumber, etag });
      report(sentBytes(), { fileId, parts: [...arrived] });
    }
    return done(completeUpload({ id: fileId, body: { parts: arrived } }, how));
  };

  // `fetch` would send all of a large file before it reads that the file is to be sent in parts
  const head = { size: file.size, body: { file: file.slice(0, HEAD_BYTES, file.type) } };
  const isLarge = file.size > DIRECT_BYTES;
  let state = begun
    ? await done(readFile({ id: begun.fileId }, how))
    : await done(uploadFile(isLarge ? head : { body: { file } }, how));
  const policy = "uploadPolicy" in state ? state.uploadPolicy : undefined;
  if (policy) state = await sendParts(state.fileId, policy);
  else report(file.size, null);
  while (!("url" in state)) {
    await pause(1_000, signal);
    state = await done(readFile({ id: state.fileId }, how));
  }
  return state;
}
