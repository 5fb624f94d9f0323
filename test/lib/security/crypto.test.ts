import { randomBytes } from "node:crypto";
import { describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";

const oldKey = `old:${randomBytes(32).toString("base64")}`;
const newKey = `new:${randomBytes(32).toString("base64")}`;

/** Imports the module with these keys. */
async function cryptoWith(...keys: string[]) {
  process.env["CREDENTIALS_KEYS"] = keys.join(",");
  jest.resetModules();
  return import("../../../lib/security/crypto.js");
}

describe("encryptText and decryptText", () => {
  test("any text is decrypted in its own context, and in no other", async () => {
    const { encryptText, decryptText } = await cryptoWith(newKey);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), fc.string(), (plain, context, other) => {
        fc.pre(context !== other);
        const encrypted = encryptText(plain, context);
        expect(decryptText(encrypted, context)).toBe(plain);
        expect(() => decryptText(encrypted, other)).toThrow();
      }),
    );
  });

  test("a text with any change cannot be decrypted", async () => {
    const { encryptText, decryptText } = await cryptoWith(newKey);
    const encrypted = encryptText("000123", "otp");
    const [id = "", data = ""] = encrypted.split(".");
    const bytes = Buffer.from(data, "base64url");
    for (let position = 0; position < bytes.length; position += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(position) ^ 1, position);
      expect(() => decryptText(`${id}.${changed.toString("base64url")}`, "otp")).toThrow();
    }
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decryptText(`${id}.${bytes.subarray(0, length).toString("base64url")}`, "otp")).toThrow();
    }
    for (const text of ["", ".", "new", "new.", "other." + data]) expect(() => decryptText(text, "otp")).toThrow();
  });

  test("the same text is encrypted differently each time", async () => {
    const { encryptText } = await cryptoWith(newKey);
    expect(encryptText("000123", "otp")).not.toBe(encryptText("000123", "otp"));
  });

  test("after a rotation the new key encrypts, the old one still decrypts, and a removed one does not", async () => {
    const before = await cryptoWith(oldKey);
    const encrypted = before.encryptText("000123", "otp");
    const during = await cryptoWith(newKey, oldKey);
    expect(during.decryptText(encrypted, "otp")).toBe("000123");
    expect(during.encryptText("000123", "otp")).toMatch(/^new\./);
    const after = await cryptoWith(newKey);
    expect(() => after.decryptText(encrypted, "otp")).toThrow("CREDENTIALS_KEYS");
  });
});

describe("a keyed hash", () => {
  test("matches only its own value and purpose", async () => {
    const { keyedHash, matchesKeyedHash } = await cryptoWith(newKey);
    const hash = keyedHash("otp", "+79991234567 000123");
    expect(matchesKeyedHash("otp", "+79991234567 000123", hash)).toBe(true);
    expect(matchesKeyedHash("otp", "+79991234567 000124", hash)).toBe(false);
    expect(matchesKeyedHash("otp", "+79991234568 000123", hash)).toBe(false);
    expect(matchesKeyedHash("refresh-token", "+79991234567 000123", hash)).toBe(false);
    expect(matchesKeyedHash("otp", "+79991234567 000123", hash.subarray(1))).toBe(false);
  });

  test("made with a former key matches during a rotation, but not after it", async () => {
    const before = await cryptoWith(oldKey);
    const hash = before.keyedHash("otp", "value");
    const during = await cryptoWith(newKey, oldKey);
    expect(during.matchesKeyedHash("otp", "value", hash)).toBe(true);
    expect(during.keyedHash("otp", "value")).not.toEqual(hash);
    const after = await cryptoWith(newKey);
    expect(after.matchesKeyedHash("otp", "value", hash)).toBe(false);
  });
});

test("random codes keep leading zeros and use every digit", async () => {
  const { randomDigits } = await cryptoWith(newKey);
  const codes = Array.from({ length: 500 }, () => randomDigits(6));
  for (const code of codes) expect(code).toMatch(/^\d{6}$/);
  expect(new Set(codes.join(""))).toEqual(new Set("0123456789"));
  expect(codes.some((code) => code.startsWith("0"))).toBe(true);
});
