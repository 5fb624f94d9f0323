import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { config } from "../process/config.js";
import { keyedHash, matchesKeyedHash } from "../security/crypto.js";
import { folderStorage } from "./folder-storage.js";
import type { PartsUpload, Storage } from "./storage.js";

/** Returns 160 random bits in hex: names cannot be guessed. */
export const newFileName = (): string => randomBytes(20).toString("hex");

/** Returns the storage keys of a file's forms. Keys spread over many folders, as some file systems are slow with large ones. */
export const keysOf = (name: string) => {
  const folder = name.slice(0, 2);
  return {
    original: `originals/${folder}/${name}`,
    image: `images/${folder}/${name}.webp`,
    thumbnail: `images/${folder}/${name}-thumbnail.webp`,
    document: `documents/${folder}/${name}.pdf`,
    menu: `menus/${folder}/${name}.csv`,
    data: `data/${folder}/${name}.json`,
  };
};

/** Whether a storage key is one of `keysOf`: the bucket may hold other files. */
export const isFileKey = (key: string): boolean => {
  const [name] = /[0-9a-f]{40}/.exec(key) ?? [];
  return name !== undefined && Object.values(keysOf(name)).includes(key);
};

const sign = (what: string) => keyedHash("address", what).toString("base64url");

/** Returns the query string that makes an address work without a token until `expiresAt`. */
function signature(what: string, expiresAt: Date): string {
  const expires = Math.floor(expiresAt.getTime() / 1_000);
  return `expires=${expires}&signature=${sign(`${what} ${expires}`)}`;
}

/** Whether an address was signed for `what` and has not expired. */
export function isSigned(what: string, { expires, signature: given }: { expires: string; signature: string }): boolean {
  const isFresh = /^\d{1,12}$/.test(expires) && Number(expires) * 1_000 > Date.now();
  return matchesKeyedHash("address", `${what} ${expires}`, Buffer.from(given, "base64url")) && isFresh;
}

/** How long a document's signed address works. */
export const DOCUMENT_SECONDS = 15 * 60;

export const imageAddress = (name: string): string => `${config.PUBLIC_URL}/files/${name}.webp`;
export const thumbnailAddress = (name: string): string => `${config.PUBLIC_URL}/files/${name}-thumbnail.webp`;
export const documentAddress = (name: string): string =>
  `${config.PUBLIC_URL}/files/${name}.pdf?${signature(`document ${name}`, new Date(Date.now() + DOCUMENT_SECONDS * 1_000))}`;

/** Returns the address of a user's own data, which works as long as a document's. */
export const dataAddress = (name: string): string =>
  `${config.PUBLIC_URL}/files/${name}.json?${signature(`data ${name}`, new Date(Date.now() + DOCUMENT_SECONDS * 1_000))}`;

/** The subject of the signature of a part's address; `bytes` is empty where the part may have any size. */
export const partSubject = ({ key, uploadId }: PartsUpload, part: string, bytes: string): string =>
  `part ${key} ${uploadId} ${part} ${bytes}`;

/** Returns the address at which this service takes one part by PUT, without a token, until `expiresAt`: of `bytes`, or of any size. */
export function partAddress(upload: PartsUpload, partNumber: number, bytes: number | null, expiresAt: Date): string {
  const path = `/files/uploads/${encodeURIComponent(upload.uploadId)}/${partNumber}`;
  const size = bytes === null ? "" : String(bytes);
  const query = signature(partSubject(upload, String(partNumber), size), expiresAt);
  return `${config.PUBLIC_URL}${path}?key=${encodeURIComponent(upload.key)}&bytes=${size}&${query}`;
}

/** This deployment's storage. */
export const files: Storage = (await bucket()) ?? folderStorage(config.STORAGE_DIR ?? join(config.DATA_DIR, "files"));

/** Storage in a bucket, if one is configured. Its client is loaded only then. */
async function bucket(): Promise<Storage | null> {
  const { S3_BUCKET, S3_REGION, S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = config;
  if (S3_BUCKET === undefined || S3_REGION === undefined) return null;
  const credentials =
    S3_ACCESS_KEY_ID !== undefined && S3_SECRET_ACCESS_KEY !== undefined
      ? { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY }
      : undefined;
  const { s3Storage } = await import("./s3-storage.js");
  return s3Storage({ bucket: S3_BUCKET, region: S3_REGION, endpoint: S3_ENDPOINT, credentials });
}

/** Deletes a file in all its forms. */
export async function deleteFile(name: string): Promise<void> {
  await Promise.all(Object.values(keysOf(name)).map((key) => files.delete(key)));
}

/** Deletes a file in all its forms, and the parts of its upload. */
export async function deleteStored({ name, uploadId }: { name: string; uploadId: string | null }): Promise<void> {
  await deleteFile(name);
  if (uploadId === null) return;
  const { original, document } = keysOf(name);
  for (const key of [original, document]) await files.dropParts({ key, uploadId });
}
