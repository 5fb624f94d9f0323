import { sha256 } from "../security/crypto.js";

/** East Asian keyboards write letters, digits and commas in two widths, which look alike to a reader. */
const foldWidths = (text: string) => text.replace(/[\uff00-\uffef]+/g, (wide) => wide.normalize("NFKC"));

/**
 * The one form of addresses that differ in nothing but case, blanks and how their characters are encoded. It is also what
 * the provider is asked for: so nobody's spelling decides what others are answered.
 */
export const canonicalAddress = (address: string): string =>
  foldWidths(address)
    .toLowerCase()
    .normalize("NFC")
    .split(",")
    .map((part) => part.trim().replace(/\s+/g, " "))
    .filter(Boolean)
    .join(", ");

/** What a canonical address is looked up by, as short as any index takes. */
export const addressKey = (canonical: string): string => sha256(canonical).toString("hex");
