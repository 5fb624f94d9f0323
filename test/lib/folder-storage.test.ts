import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { folderStorage } from "../../lib/folder-storage.js";
import type { Storage } from "../../lib/storage.js";

let folder: string;
let storage: Storage;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "storage-"));
  storage = folderStorage(folder, () => "unused");
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const put = (key: string, bytes: Uint8Array) => storage.put(key, Readable.from([bytes]), "image/webp");
const everything = async () =>
  (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());

describe("storage in a folder", () => {
  test("gives back what was put, whole and in parts, until it is deleted", async () => {
    const bytes = randomBytes(300_000);
    await put("a/b/c.webp", bytes);
    expect(await storage.size("a/b/c.webp")).toBe(bytes.length);
    expect(await buffer(await storage.read("a/b/c.webp"))).toEqual(bytes);
    expect(await buffer(await storage.read("a/b/c.webp", { start: 10, end: 19 }))).toEqual(bytes.subarray(10, 20));
    await storage.delete("a/b/c.webp");
    await storage.delete("a/b/c.webp");
    expect(await storage.size("a/b/c.webp")).toBeNull();
    await expect(storage.read("a/b/c.webp")).rejects.toThrow();
  });

  test("keeps nothing of a stream that breaks off, and what was there before", async () => {
    await put("kept.webp", Buffer.from("before"));
    const files = (await everything()).length;
    const broken = Readable.from(
      (function* () {
        yield Buffer.alloc(100_000);
        throw new Error("the client is gone");
      })(),
    );
    await expect(storage.put("kept.webp", broken, "image/webp")).rejects.toThrow("the client is gone");
    expect(await buffer(await storage.read("kept.webp"))).toEqual(Buffer.from("before"));
    expect((await everything()).length).toBe(files);
  });

  test("of two that are put at once one is there, whole", async () => {
    const [one, other] = [Buffer.alloc(200_000, 1), Buffer.alloc(200_000, 2)];
    await Promise.all([put("both.webp", one), put("both.webp", other)]);
    const kept = await buffer(await storage.read("both.webp"));
    expect([one, other].some((bytes) => bytes.equals(kept))).toBe(true);
  });

  test.each(["../x", "a/../../x", "/etc/passwd", "a//b", "a\u0000b", "", ".hidden", "a/.."])(
    "%j is no key",
    async (key) => {
      await expect(put(key, Buffer.from("x"))).rejects.toThrow("another form");
      await expect(storage.size(key)).rejects.toThrow("another form");
    },
  );
});
