import { randomBytes } from "node:crypto";
import { decrypt, decryptText, encrypt, encryptText } from "./crypto.js";

const keyBytes = 32;

/**
 * Encrypts text for one place under a key of its own, which is encrypted under the deployment's current key. After a
 * rotation `rewrapEnvelope` rewrites a few bytes, however long the text is.
 */
export function encryptEnvelope(plain: string, context: string): string {
  const key = randomBytes(keyBytes);
  return `${encryptText(key.toString("base64url"), context)}.${encrypt(key, plain, context).toString("base64url")}`;
}

function parts(envelope: string): { wrappedKey: string; data: string } {
  const cut = envelope.lastIndexOf(".");
  return { wrappedKey: envelope.slice(0, cut), data: envelope.slice(cut + 1) };
}

/** Decrypts what `encryptEnvelope` returned; throws when it was changed, comes from another place or its key is gone. */
export function decryptEnvelope(envelope: string, context: string): string {
  const { wrappedKey, data } = parts(envelope);
  return decrypt(Buffer.from(decryptText(wrappedKey, context), "base64url"), Buffer.from(data, "base64url"), context);
}

/** Returns the envelope with its key encrypted under the deployment's current key. Throws as `decryptEnvelope` does. */
export function rewrapEnvelope(envelope: string, context: string): string {
  const { wrappedKey, data } = parts(envelope);
  return `${encryptText(decryptText(wrappedKey, context), context)}.${data}`;
}
