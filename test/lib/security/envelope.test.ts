import { randomBytes } from "node:crypto";
import { expect, jest, test } from "@jest/globals";
import fc from "fast-check";

const newKey = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;
const [old, current] = [newKey("old"), newKey("current")];

/** Imports the module with these keys. */
async function withKeys(...keys: string[]) {
  jest.resetModules();
  process.env["CREDENTIALS_KEYS"] = keys.join(",");
  return import("../../../lib/security/envelope.js");
}

test("an envelope is decrypted in its own context, and in no other", async () => {
  const { decryptEnvelope, encryptEnvelope } = await withKeys(current);
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string(), fc.string(), (plain, context, other) => {
      fc.pre(context !== other);
      const envelope = encryptEnvelope(plain, context);
      expect(decryptEnvelope(envelope, context)).toBe(plain);
      expect(() => decryptEnvelope(envelope, other)).toThrow();
    }),
  );
});

test("each envelope of the same text uses another key", async () => {
  const { encryptEnvelope } = await withKeys(current);
  const [one, other] = [encryptEnvelope("same", "place").split("."), encryptEnvelope("same", "place").split(".")];
  expect(one).toHaveLength(3);
  expect(one[0]).toBe("current");
  expect(one[1]).not.toBe(other[1]);
  expect(one[2]).not.toBe(other[2]);
});

test("an envelope that was changed or combined from two is refused", async () => {
  const { decryptEnvelope, encryptEnvelope } = await withKeys(current);
  const [one, other] = [encryptEnvelope("one", "place"), encryptEnvelope("other", "place")];
  const [id, key, data] = one.split(".");
  const [, otherKey, otherData] = other.split(".");
  for (const forged of [
    [id, otherKey, data],
    [id, key, otherData],
    [id, key, data?.replace(/^./, (first) => (first === "A" ? "B" : "A"))],
    [id, key, ""],
    [id, "", data],
    ["another", key, data],
    [id, key],
    [],
  ])
    expect(() => decryptEnvelope(forged.join("."), "place")).toThrow();
});

test("an envelope can be moved to the current key while both keys are configured, and then the old key can be removed", async () => {
  const before = (await withKeys(old)).encryptEnvelope("a secret", "place");
  const both = await withKeys(current, old);
  expect(both.decryptEnvelope(before, "place")).toBe("a secret");
  const after = both.rewrapEnvelope(before, "place");
  expect(after.startsWith("current.")).toBe(true);
  // the content stays the same
  expect(after.split(".")[2]).toBe(before.split(".")[2]);
  expect((await withKeys(current)).decryptEnvelope(after, "place")).toBe("a secret");
  const without = await withKeys(current);
  expect(() => without.decryptEnvelope(before, "place")).toThrow("a key that is not in CREDENTIALS_KEYS");
  expect(() => both.rewrapEnvelope(before, "elsewhere")).toThrow();
});
