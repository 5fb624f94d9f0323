import { isUtf8 } from "node:buffer";

/** A line of the file is not UTF-8. */
export class NotUtf8 extends Error {
  override name = "NotUtf8";
  constructor(readonly line: number) {
    super(`line ${line} is not UTF-8`);
  }
}

const LF = 0x0a;
const CR = 0x0d;

/** Returns the length of the bytes without an incomplete character at their end. */
function wholeLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? bytes.length - back : bytes.length;
    }
    if (byte < 0x80) break;
  }
  return bytes.length;
}

/** Checks that a file is UTF-8, piece by piece. */
export class Utf8Check {
  #line = 1;
  #afterCr = false;
  #rest: Buffer = Buffer.alloc(0);

  /** Throws NotUtf8 when these bytes, after the earlier ones, are not UTF-8. */
  add(piece: Buffer): void {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece;
    const end = wholeLength(bytes);
    const whole = bytes.subarray(0, end);
    if (!isUtf8(whole)) throw new NotUtf8(this.#firstWrong(whole));
    this.#count(whole);
    this.#rest = Buffer.from(bytes.subarray(end));
  }

  /** Throws NotUtf8 when the last character is incomplete. */
  end(): void {
    if (this.#rest.length > 0) throw new NotUtf8(this.#line);
  }

  #count(bytes: Buffer): void {
    let line = this.#line;
    let afterCr = this.#afterCr;
    for (const byte of bytes) {
      if (byte === CR || (byte === LF && !afterCr)) line += 1;
      afterCr = byte === CR;
    }
    this.#line = line;
    this.#afterCr = afterCr;
  }

  /** Finds the first line that is not UTF-8; a line end is never part of another character. */
  #firstWrong(bytes: Buffer): number {
    let start = 0;
    for (let at = 0; at <= bytes.length; at += 1) {
      if (at < bytes.length && bytes[at] !== LF && bytes[at] !== CR) continue;
      const line = bytes.subarray(start, at);
      if (!isUtf8(line)) break;
      this.#count(bytes.subarray(start, at + 1));
      start = at + 1;
    }
    return this.#line;
  }
}
