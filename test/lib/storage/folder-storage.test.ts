import { mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { folderStorage } from "../../../lib/storage/folder-storage.js";
import {
  NoFile,
  StorageUnavailable,
  WrongParts,
  type PartsUpload,
  type Storage,
} from "../../../lib/storage/storage.js";
import { describeStorage, upTo } from "./storage-promises.js";

let folder: string;
let storage: Storage;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "storage-"));
  storage = folderStorage(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const files = async () =>
  (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());

describeStorage("a folder", { storage: () => storage, count: async () => (await files()).length });

const text = () => Readable.from([Buffer.from("text")]);
const putPart = (upload: PartsUpload, partNumber: number, content: string) =>
  storage.putPart(upload, partNumber, Readable.from([Buffer.from(content)]), content.length);

test("a file that does not exist is reported as gone", async () => {
  await expect(storage.read("gone.webp")).rejects.toThrow(NoFile);
});

test("a dropped upload accepts no more parts, not even one that is being sent", async () => {
  const upload = await storage.beginParts("parts.pdf", "application/pdf");
  const body = new Readable({ read: () => undefined });
  body.push("the beginning");
  const sending = storage.putPart(upload, 1, body, 20);
  await storage.dropParts(upload);
  body.push(null);
  await expect(sending).rejects.toThrow(WrongParts);
  await expect(putPart(upload, 2, "text")).rejects.toThrow(WrongParts);
  expect((await readdir(join(folder, "uploads"))).includes(upload.uploadId)).toBe(false);
});

test("unfinished files of killed processes are deleted once they are old, and no others", async () => {
  await mkdir(join(folder, "unfinished"), { recursive: true });
  for (const name of ["old", "young"]) await writeFile(join(folder, "unfinished", name), name);
  const [old, young] = [await storage.beginParts("a", "image/png"), await storage.beginParts("b", "image/png")];
  await putPart(old, 1, "text");
  await storage.put("kept.webp", text(), "image/webp");
  const [now, before] = [new Date(), new Date(Date.now() - 60_000)];
  for (const path of ["unfinished/old", `uploads/${old.uploadId}`, "kept.webp"])
    await utimes(join(folder, path), now, before);
  await storage.dropAbandoned(new Date(Date.now() - 30_000), () => true);
  expect(await readdir(join(folder, "unfinished"))).toEqual(["young"]);
  expect(await readdir(join(folder, "uploads"))).toEqual([young.uploadId]);
  expect(await storage.size("kept.webp")).toBe(4);
});

test("every operation on an unusable folder reports storage as unavailable, and why", async () => {
  // a file in its place stops every user, even root
  const path = join(folder, "no-folder");
  await writeFile(path, "");
  const broken = folderStorage(path);
  const upload = { key: "a", uploadId: "u" };
  const outcomes = await Promise.allSettled([
    broken.check(),
    broken.put("a", text(), "image/png"),
    broken.size("a"),
    broken.read("a"),
    broken.delete("a/b"),
    broken.beginParts("a", "image/png"),
    broken.putPart(upload, 1, text(), 4),
    broken.joinParts(upload, [{ partNumber: 1, etag: "x" }], upTo(1)),
    broken.dropAbandoned(new Date(), () => true),
  ]);
  expect(outcomes).toHaveLength(9);
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(StorageUnavailable) });
    // the log has this line alone
    expect(outcome).toHaveProperty(
      "reason.message",
      expect.stringMatching(/cannot be used: a part of the path is a file$/),
    );
  }
});

test("a part that is sent again replaces the former one, and a wrong list of parts copies nothing", async () => {
  const upload = await storage.beginParts("again.pdf", "application/pdf");
  const first = await putPart(upload, 1, "first");
  const second = await putPart(upload, 1, "text");
  expect(await readdir(join(folder, "uploads", upload.uploadId))).toHaveLength(1);
  const written = async () => (await stat(join(folder, "unfinished"))).mtimeMs;
  const before = await written();
  await expect(storage.joinParts(upload, [{ partNumber: 1, etag: first }], upTo(5))).rejects.toThrow(WrongParts);
  expect(await written()).toBe(before);
  const parts = [{ partNumber: 1, etag: second }];
  const outcomes = await Promise.allSettled([
    storage.joinParts(upload, parts, upTo(4)),
    storage.joinParts(upload, parts, upTo(4)),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(await storage.size("again.pdf")).toBe(4);
});

test("parts that together are too large are not joined", async () => {
  const upload = await storage.beginParts("large.pdf", "application/pdf");
  const parts = [
    { partNumber: 1, etag: await putPart(upload, 1, "one") },
    { partNumber: 2, etag: await putPart(upload, 2, "two") },
  ];
  await expect(storage.joinParts(upload, parts, upTo(5))).rejects.toThrow(WrongParts);
  expect(await storage.size("large.pdf")).toBeNull();
  await storage.joinParts(upload, parts, upTo(6));
  expect(await storage.size("large.pdf")).toBe(6);
});

test("a part that disappears while joining is a wrong part, and nothing is left of the file", async () => {
  const upload = await storage.beginParts("going.pdf", "application/pdf");
  const parts = [{ partNumber: 1, etag: await putPart(upload, 1, "text") }];
  const [name = ""] = await readdir(join(folder, "uploads", upload.uploadId));
  await rm(join(folder, "uploads", upload.uploadId, name));
  // it is listed but cannot be opened
  await symlink("nowhere", join(folder, "uploads", upload.uploadId, name));
  await expect(storage.joinParts(upload, parts, upTo(4))).rejects.toThrow(WrongParts);
  expect(await storage.size("going.pdf")).toBeNull();
});

test("of a part sent many times concurrently one is kept, and a later one replaces it", async () => {
  const upload = await storage.beginParts("many.pdf", "application/pdf");
  const send = (content: string) => putPart(upload, 1, content);
  const kept = () => readdir(join(folder, "uploads", upload.uploadId));
  await Promise.all(Array.from({ length: 20 }, (_, n) => send(`content ${n}`)));
  expect(await kept()).toHaveLength(1);
  for (const content of ["first", "second", "first"]) await send(content);
  const etag = await send("the last");
  expect(await kept()).toHaveLength(1);
  await storage.joinParts(upload, [{ partNumber: 1, etag }], upTo(8));
  expect(await storage.size("many.pdf")).toBe(8);
});
