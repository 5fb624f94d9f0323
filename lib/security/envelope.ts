import { randomBytes } from "node:crypto";
import { decrypt, encrypt, open, seal } from "./crypto.js";

const keyBytes = 32;

/**
 * Encrypts text for one place under a key of its own, which is sealed under the deployment's current key. Another key of
 * the deployment's then costs a `reseal` of a few bytes, however long the text is.
 */
export function enclose(plain: string, context: string): string {
  const key = randomBytes(keyBytes);
  return `${seal(key.toString("base64url"), context)}.${encrypt(key, plain, context).toString("base64url")}`;
}

function parts(envelope: string): { sealedKey: string; data: string } {
  const cut = envelope.lastIndexOf(".");
  return { sealedKey: envelope.slice(0, cut), data: envelope.slice(cut + 1) };
}

/** Decrypts what `enclose` made; throws when it was changed, comes from another place or its key is gone. */
export function disclose(envelope: string, context: string): string {
  const { sealedKey, data } = parts(envelope);
  return decrypt(Buffer.from(open(sealedKey, context), "base64url"), Buffer.from(data, "base64url"), context);
}

/** The same envelope with its key sealed under the deployment's current key. Throws as `disclose` does. */
export function reseal(envelope: string, context: string): string {
  const { sealedKey, data } = parts(envelope);
  return `${seal(open(sealedKey, context), context)}.${data}`;
}
