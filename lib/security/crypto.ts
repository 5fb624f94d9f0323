import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
  randomInt,
  timingSafeEqual,
} from "node:crypto";
import { config } from "../process/config.js";

const ivBytes = 12;
const tagBytes = 16;

/** What a key is derived for: hashes for different purposes cannot be compared. Stored data depends on these names. */
type Purpose = "seal" | "otp" | "refresh-token" | "address" | "counter" | "client" | "phone";

const derive = (purpose: Purpose) =>
  config.CREDENTIALS_KEYS.map(({ id, key }) => ({ id, key: Buffer.from(hkdfSync("sha256", key, "", purpose, 32)) }));

const keys: Record<Purpose, { id: string; key: Buffer }[]> = {
  seal: derive("seal"),
  otp: derive("otp"),
  "refresh-token": derive("refresh-token"),
  address: derive("address"),
  counter: derive("counter"),
  client: derive("client"),
  phone: derive("phone"),
};

const current = (purpose: Purpose) => {
  const [first] = keys[purpose];
  if (!first) throw new Error("CREDENTIALS_KEYS holds no key");
  return first;
};

/** Encrypts text with AES-256-GCM; `context` names the place where it is stored. */
export function encrypt(key: Buffer, plain: string, context: string): Buffer {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(context));
  return Buffer.concat([iv, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts what `encrypt` returned; throws when the bytes were changed, or key or context differ. */
export function decrypt(key: Buffer, bytes: Buffer, context: string): string {
  if (bytes.length < ivBytes + tagBytes) throw new Error("the encrypted text is too short");
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()]).toString("utf8");
}

/** Encrypts text for one place (`context`, such as `otp:<phone>`); copied to another place it cannot be decrypted. */
export function encryptText(plain: string, context: string): string {
  const { id, key } = current("seal");
  return `${id}.${encrypt(key, plain, context).toString("base64url")}`;
}

/** Decrypts what `encryptText` returned; throws when it was changed, comes from another place or its key is gone. */
export function decryptText(encrypted: string, context: string): string {
  const [id, data = ""] = encrypted.split(".");
  const found = keys.seal.find((candidate) => candidate.id === id);
  if (!found) throw new Error("encrypted with a key that is not in CREDENTIALS_KEYS");
  return decrypt(found.key, Buffer.from(data, "base64url"), context);
}

/** Returns the id of the current key, which every new encrypted text begins with. */
export const currentKeyId = (): string => current("seal").id;

const hmac = (key: Buffer, value: string): Buffer => createHmac("sha256", key).update(value).digest();

/** Returns the HMAC-SHA256 of a value under every key in force, the current key's first. */
export const keyedHashes = (purpose: Purpose, value: string): Buffer[] =>
  keys[purpose].map(({ key }) => hmac(key, value));

/** Returns the HMAC-SHA256 of a value under the current key. */
export const keyedHash = (purpose: Purpose, value: string): Buffer => hmac(current(purpose).key, value);

/** Whether `hash` is the value's keyed hash under any key in force, in constant time. */
export function matchesKeyedHash(purpose: Purpose, value: string, hash: Uint8Array): boolean {
  return keyedHashes(purpose, value).reduce((found, candidate) => sameBytes(candidate, hash) || found, false);
}

/** Compares in constant time. */
export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);

/** Returns the SHA-256 of a text, without a key: what can be guessed, such as a phone or a code, needs `keyedHash`. */
export const sha256 = (value: string): Buffer => hash("sha256", value, "buffer");

/** Returns 256 random bits as 43 characters that are safe in a URL. */
export const randomToken = (): string => randomBytes(32).toString("base64url");

/** Returns this many random digits, with leading zeros, from a secure generator. */
export const randomDigits = (length: number): string => Array.from({ length }, () => randomInt(10)).join("");
