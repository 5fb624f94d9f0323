import { sha256 } from "../security/crypto.js";

/** East Asian keyboards write letters, digits and commas in two widths, which look alike to a reader. */
const foldWidths = (text: string) => text.replace(/[\uff00-\uffef]+/g, (wide) => wide.normalize("NFKC"));

/**
 * Returns one form for all addresses that differ only in case, blanks and encoding. The provider is asked for this form, so
 * that one user's spelling does not decide the result of others.
 */
export const canonicalAddress = (address: string): string =>
  foldWidths(address)
    .toLowerCase()
    .normalize("NFC")
    .split(",")
    .map((part) => part.trim().replace(/\s+/g, " "))
    .filter(Boolean)
    .join(", ");

/** Returns the key of a canonical address, short enough for an index. */
export const addressKey = (canonical: string): string => sha256(canonical).toString("hex");
