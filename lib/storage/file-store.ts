import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { config } from "../process/config.js";
import { keyedHash, matchesKeyedHash } from "../security/crypto.js";
import { folderStorage } from "./folder-storage.js";
import { s3Storage } from "./s3-storage.js";
import type { Storage } from "./storage.js";

/** 160 random bits, which nobody can guess. */
export const newFileName = (): string => randomBytes(20).toString("hex");

/** Where the parts of a file of this name lie in storage: in many folders, as some file systems are slow with many files in one. */
export const keysOf = (name: string) => {
  const folder = name.slice(0, 2);
  return {
    original: `originals/${folder}/${name}`,
    image: `images/${folder}/${name}.webp`,
    thumbnail: `images/${folder}/${name}-thumbnail.webp`,
    document: `documents/${folder}/${name}.pdf`,
    menu: `menus/${folder}/${name}.csv`,
  };
};

/** Whether a key of storage is one of `keysOf`: others may keep files beside ours. */
export const isOurKey = (key: string): boolean => {
  const [name] = /[0-9a-f]{40}/.exec(key) ?? [];
  return name !== undefined && Object.values(keysOf(name)).includes(key);
};

const sign = (what: string) => keyedHash("address", what).toString("base64url");

/** The query that makes an address work without a token until then. */
function signature(what: string, expiresAt: Date): string {
  const expires = Math.floor(expiresAt.getTime() / 1_000);
  return `expires=${expires}&signature=${sign(`${what} ${expires}`)}`;
}

/** Whether an address was signed for this, and still holds. */
export function isSigned(what: string, { expires, signature: given }: { expires: string; signature: string }): boolean {
  const holds = /^\d{1,12}$/.test(expires) && Number(expires) * 1_000 > Date.now();
  return matchesKeyedHash("address", `${what} ${expires}`, Buffer.from(given, "base64url")) && holds;
}

/** How long the address of a document works. */
export const DOCUMENT_SECONDS = 15 * 60;

export const imageAddress = (name: string): string => `${config.PUBLIC_URL}/files/${name}.webp`;
export const thumbnailAddress = (name: string): string => `${config.PUBLIC_URL}/files/${name}-thumbnail.webp`;
export const documentAddress = (name: string): string =>
  `${config.PUBLIC_URL}/files/${name}.pdf?${signature(`document ${name}`, new Date(Date.now() + DOCUMENT_SECONDS * 1_000))}`;

/** The folder where files lie, unless they lie in a bucket. */
export const folder = folderStorage(
  config.STORAGE_DIR ?? join(config.DATA_DIR, "files"),
  ({ uploadId }, part, expiresAt) =>
    `${config.PUBLIC_URL}/files/uploads/${uploadId}/${part}?${signature(`part ${uploadId} ${part}`, expiresAt)}`,
);

/** Where the files of this deployment lie. */
export const files: Storage = bucket() ?? folder;

function bucket(): Storage | null {
  const { S3_BUCKET, S3_REGION, S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = config;
  if (S3_BUCKET === undefined || S3_REGION === undefined) return null;
  const credentials =
    S3_ACCESS_KEY_ID !== undefined && S3_SECRET_ACCESS_KEY !== undefined
      ? { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY }
      : undefined;
  return s3Storage({ bucket: S3_BUCKET, region: S3_REGION, endpoint: S3_ENDPOINT, credentials });
}

/** Deletes all that there is of a file. */
export async function deleteFile(name: string): Promise<void> {
  await Promise.all(Object.values(keysOf(name)).map((key) => files.delete(key)));
}

/** Deletes all that there is of a file, also what has come in of it in parts. */
export async function deleteStored({ name, uploadId }: { name: string; uploadId: string | null }): Promise<void> {
  await deleteFile(name);
  if (uploadId === null) return;
  const { original, document } = keysOf(name);
  for (const key of [original, document]) await files.dropParts({ key, uploadId });
}
