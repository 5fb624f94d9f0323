import { randomInt } from "node:crypto";

/** Crockford's base32: no I, L, O or U, which are misread or misheard. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const digits = 7;

/** Multiplies by x in the field of 32 elements (x⁵ + x² + 1). */
const double = (value: number): number => ((value << 1) & 31) ^ (value & 16 ? 0b00101 : 0);

/** Returns a checksum that every wrong character and every swap of two neighbours changes. */
const fold = (text: string): number =>
  Array.from(text).reduce((state, character) => double(state ^ alphabet.indexOf(character)), 0);

/** A new public identifier of a user: 35 random bits and a check character, such as `SF-7K3M9QX2`. */
export function newServiceId(): string {
  const text = Array.from({ length: digits }, () => alphabet.charAt(randomInt(alphabet.length))).join("");
  return `SF-${text}${alphabet.charAt(fold(text))}`;
}

/** Whether the text has the form of a service id and its check character fits, which a typing error breaks. */
export const isServiceId = (text: string): boolean =>
  /^SF-[0-9A-HJKMNP-TV-Z]{8}$/.test(text) && fold(text.slice(3)) === 0;
