import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "@jest/globals";
import { WrongParts, type PartsUpload, type Storage } from "../../../lib/storage/storage.js";

const MIB = 1_048_576;

/** The storage under test, and what a test cannot do or see through the interface. */
export interface Trial {
  storage: () => Storage;
  /** The number of files and unfinished uploads. */
  count: () => Promise<number>;
}

export interface PartsTrial extends Trial {
  /** Sends a part as a client would; returns the `ETag` of the answer. */
  uploadPart: (upload: PartsUpload, partNumber: number, bytes: Buffer) => Promise<string>;
}

const put = (storage: Storage, key: string, bytes: Uint8Array) =>
  storage.put(key, Readable.from([bytes]), "image/webp");
const later = (seconds: number) => new Date(Date.now() + seconds * 1_000);
const get = async (storage: Storage, key: string) => buffer(await storage.read(key));
const inChunks = (bytes: Buffer) =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
    })(),
  );

/** The promises of every storage for files in one stream. */
export function describeStorage(name: string, { storage, count }: Trial): void {
  describe(`files in ${name}`, () => {
    test("are returned as stored, completely and in ranges, until they are deleted", async () => {
      const bytes = randomBytes(300_000);
      await put(storage(), "a/b/c.webp", bytes);
      expect(await storage().size("a/b/c.webp")).toBe(bytes.length);
      expect(await get(storage(), "a/b/c.webp")).toEqual(bytes);
      const from = async (start: number, end: number) => buffer(await storage().read("a/b/c.webp", { start, end }));
      expect(await from(0, 0)).toEqual(bytes.subarray(0, 1));
      expect(await from(10, 19)).toEqual(bytes.subarray(10, 20));
      expect(await from(299_990, 299_999)).toEqual(bytes.subarray(-10));
      await storage().delete("a/b/c.webp");
      await storage().delete("a/b/c.webp");
      expect(await storage().size("a/b/c.webp")).toBeNull();
      await expect(storage().read("a/b/c.webp")).rejects.toThrow();
    });

    test("may be long or empty", async () => {
      const bytes = randomBytes(12 * MIB + 1);
      await storage().put("long.webp", inChunks(bytes), "image/webp");
      expect(await storage().size("long.webp")).toBe(bytes.length);
      expect((await get(storage(), "long.webp")).equals(bytes)).toBe(true);
      await put(storage(), "empty.webp", Buffer.alloc(0));
      expect(await storage().size("empty.webp")).toBe(0);
      expect(await get(storage(), "empty.webp")).toHaveLength(0);
    });

    test("replace former ones of the same key", async () => {
      await put(storage(), "place.webp", Buffer.from("the first, which is longer"));
      const before = await count();
      await put(storage(), "place.webp", Buffer.from("the second"));
      expect(await get(storage(), "place.webp")).toEqual(Buffer.from("the second"));
      expect(await count()).toBe(before);
    });

    test.each([0, 100_000, 5 * MIB, 12 * MIB])(
      "are not changed by a stream that breaks off after %d bytes",
      async (length) => {
        await put(storage(), "kept.webp", Buffer.from("before"));
        const files = await count();
        const broken = Readable.from(
          (function* () {
            for (let at = 0; at < length; at += 50_000) yield Buffer.alloc(Math.min(50_000, length - at));
            throw new Error("the client is gone");
          })(),
        );
        await expect(storage().put("kept.webp", broken, "image/webp")).rejects.toThrow("the client is gone");
        expect(await get(storage(), "kept.webp")).toEqual(Buffer.from("before"));
        expect(await count()).toBe(files);
      },
    );

    test("are not changed by a stream that is already broken or never ends properly", async () => {
      const files = await count();
      const broken = new Readable({ read: () => undefined });
      broken.destroy(new Error("the client is gone"));
      await expect(once(broken, "close")).rejects.toThrow("the client is gone");
      await expect(storage().put("never.webp", broken, "image/webp")).rejects.toThrow();
      const cut = new Readable({ read: () => undefined });
      cut.push(Buffer.alloc(100));
      const outcome = storage().put("never.webp", cut, "image/webp");
      cut.destroy();
      await expect(outcome).rejects.toThrow();
      expect(await storage().size("never.webp")).toBeNull();
      expect(await count()).toBe(files);
    });

    test("stored concurrently under one key leave one complete file", async () => {
      const [one, other] = [Buffer.alloc(200_000, 1), Buffer.alloc(200_000, 2)];
      await Promise.all([put(storage(), "both.webp", one), put(storage(), "both.webp", other)]);
      const there = await get(storage(), "both.webp");
      expect([one, other].some((bytes) => bytes.equals(there))).toBe(true);
    });

    test.each(["../x", "a/../../x", "/etc/passwd", "a//b", "a\u0000b", "", ".hidden", "a/..", "a b", "ä", "a?b"])(
      "cannot have the key %j",
      async (key) => {
        await expect(put(storage(), key, Buffer.from("x"))).rejects.toThrow("malformed");
        await expect(storage().size(key)).rejects.toThrow("malformed");
        await expect(storage().read(key)).rejects.toThrow("malformed");
        await expect(storage().delete(key)).rejects.toThrow("malformed");
      },
    );
  });
}

/** The sizes up to `most`. */
export const upTo = (most: number) => ({ least: 0, most });

/** The promises of every storage for files in parts. */
export function describeParts(name: string, { storage, count, uploadPart }: PartsTrial): void {
  describe(`files that come to ${name} in parts`, () => {
    const [first, second, third] = [randomBytes(5 * MIB), randomBytes(5 * MIB + 1), randomBytes(10)];
    const whole = Buffer.concat([first, second, third]);

    const begin = (key: string) => storage().beginParts(key, "application/pdf");
    /** Sends all three parts, out of order. */
    const sendAll = async (upload: PartsUpload) => {
      const parts = [];
      for (const [partNumber, bytes] of [
        [3, third],
        [1, first],
        [2, second],
      ] as const)
        parts.push({ partNumber, etag: await uploadPart(upload, partNumber, bytes) });
      return parts;
    };

    test("are joined by their numbers, whatever the order of arrival and listing", async () => {
      const before = await count();
      const upload = await begin("parts/one.pdf");
      const parts = await sendAll(upload);
      expect(await storage().size("parts/one.pdf")).toBeNull();
      await storage().joinParts(upload, parts, upTo(whole.length));
      expect(await storage().size("parts/one.pdf")).toBe(whole.length);
      expect((await get(storage(), "parts/one.pdf")).equals(whole)).toBe(true);
      const seam = { start: first.length - 2, end: first.length + 1 };
      expect(await buffer(await storage().read("parts/one.pdf", seam))).toEqual(
        whole.subarray(first.length - 2, first.length + 2),
      );
      expect(await count()).toBe(before + 1);
    });

    test("replace a former file only once they are joined", async () => {
      await put(storage(), "parts/place.pdf", Buffer.from("before"));
      const upload = await begin("parts/place.pdf");
      const parts = [{ partNumber: 1, etag: await uploadPart(upload, 1, third) }];
      expect(await get(storage(), "parts/place.pdf")).toEqual(Buffer.from("before"));
      await storage().joinParts(upload, parts, upTo(whole.length));
      expect(await get(storage(), "parts/place.pdf")).toEqual(third);
    });

    test("can be sent again, and the last one counts", async () => {
      const upload = await begin("parts/again.pdf");
      const stale = await uploadPart(upload, 1, Buffer.from("the first try"));
      const etag = await uploadPart(upload, 1, third);
      await expect(storage().joinParts(upload, [{ partNumber: 1, etag: stale }], upTo(whole.length))).rejects.toThrow(
        WrongParts,
      );
      await storage().joinParts(upload, [{ partNumber: 1, etag }], upTo(whole.length));
      expect(await get(storage(), "parts/again.pdf")).toEqual(third);
    });

    test("are refused when one is missing, wrong, listed twice or none is listed, and can be corrected", async () => {
      const upload = await begin("parts/wrong.pdf");
      const one = { partNumber: 1, etag: await uploadPart(upload, 1, first) };
      const two = { partNumber: 2, etag: await uploadPart(upload, 2, second) };
      const wrong = [
        [],
        [one, { ...two, partNumber: 3 }],
        [one, two, { ...two, partNumber: 3 }],
        [one, { ...two, etag: one.etag }],
        [one, { ...two, etag: '"no-digest"' }],
        [one, one, two],
      ];
      for (const parts of wrong)
        await expect(storage().joinParts(upload, parts, upTo(whole.length))).rejects.toThrow(WrongParts);
      expect(await storage().size("parts/wrong.pdf")).toBeNull();
      await storage().joinParts(upload, [one, two], upTo(whole.length));
      expect(await storage().size("parts/wrong.pdf")).toBe(first.length + second.length);
    });

    test("are refused when together they have too many or too few bytes, and nothing is joined", async () => {
      const upload = await begin("parts/large.pdf");
      const parts = await sendAll(upload);
      await expect(storage().joinParts(upload, parts, upTo(whole.length - 1))).rejects.toThrow(WrongParts);
      const more = { least: whole.length + 1, most: 2 * whole.length };
      await expect(storage().joinParts(upload, parts, more)).rejects.toThrow(WrongParts);
      expect(await storage().size("parts/large.pdf")).toBeNull();
      await storage().joinParts(upload, parts, { least: whole.length, most: whole.length });
      expect(await storage().size("parts/large.pdf")).toBe(whole.length);
    });

    test("of one upload cannot be used in another with the same key", async () => {
      const [upload, other] = [await begin("parts/two.pdf"), await begin("parts/two.pdf")];
      const part = { partNumber: 1, etag: await uploadPart(upload, 1, third) };
      await expect(storage().joinParts(other, [part], upTo(whole.length))).rejects.toThrow(WrongParts);
      await storage().joinParts(upload, [part], upTo(whole.length));
      await storage().dropParts(other);
      expect(await get(storage(), "parts/two.pdf")).toEqual(third);
    });

    test("are deleted when they are dropped, and can no longer be joined", async () => {
      const before = await count();
      const upload = await begin("parts/dropped.pdf");
      const parts = await sendAll(upload);
      await storage().dropParts(upload);
      expect(await count()).toBe(before);
      await storage().dropParts(upload);
      await expect(storage().joinParts(upload, parts, upTo(whole.length))).rejects.toThrow(WrongParts);
      expect(await storage().size("parts/dropped.pdf")).toBeNull();
    });

    test("that were joined are not affected by dropping the upload", async () => {
      const upload = await begin("parts/done.pdf");
      await storage().joinParts(
        upload,
        [{ partNumber: 1, etag: await uploadPart(upload, 1, third) }],
        upTo(third.length),
      );
      await storage().dropParts(upload);
      expect(await get(storage(), "parts/done.pdf")).toEqual(third);
    });

    test("are deleted after a long time unfinished, but not those of other programs", async () => {
      const before = await count();
      const [upload, other] = [await begin("parts/forgotten.pdf"), await begin("parts/other.pdf")];
      for (const each of [upload, other]) await uploadPart(each, 1, third);
      const isOurs = (key: string) => key === upload.key;
      await storage().dropAbandoned(later(-60), isOurs);
      expect(await count()).toBe(before + 2);
      await storage().dropAbandoned(later(60), isOurs);
      expect(await count()).toBe(before + 1);
      await storage().dropParts(other);
    });

    test.each(["../x", "a//b", "", "a b"])("cannot have the key %j", async (key) => {
      const upload = { key, uploadId: "1" };
      await expect(begin(key)).rejects.toThrow("malformed");
      await expect(storage().joinParts(upload, [{ partNumber: 1, etag: "x" }], upTo(1))).rejects.toThrow("malformed");
    });
  });
}
