import { mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { folderStorage, type FolderStorage } from "../../../lib/storage/folder-storage.js";
import { NoFile, StorageUnavailable, WrongParts } from "../../../lib/storage/storage.js";
import { describeStorage } from "./storage-promises.js";

let folder: string;
let storage: FolderStorage;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "storage-"));
  storage = folderStorage(folder, () => "unused");
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const files = async () =>
  (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());

describeStorage("a folder", { storage: () => storage, count: async () => (await files()).length });

const text = () => Readable.from([Buffer.from("text")]);

test("a file that is not there is said to be gone", async () => {
  await expect(storage.read("gone.webp")).rejects.toThrow(NoFile);
});

test("an upload that is dropped takes no more, not even the part that is on its way", async () => {
  const upload = await storage.beginParts("parts.pdf", "application/pdf");
  const body = new Readable({ read: () => undefined });
  body.push("the beginning");
  const sending = storage.putPart(upload.uploadId, 1, body);
  await storage.dropParts(upload);
  body.push(null);
  await expect(sending).rejects.toThrow(WrongParts);
  await expect(storage.putPart(upload.uploadId, 2, text())).rejects.toThrow(WrongParts);
  expect((await readdir(join(folder, "uploads"))).includes(upload.uploadId)).toBe(false);
});

test("what a killed process left unfinished is deleted once it is old, and nothing else", async () => {
  await mkdir(join(folder, "unfinished"), { recursive: true });
  for (const name of ["old", "young"]) await writeFile(join(folder, "unfinished", name), name);
  const [old, young] = [await storage.beginParts("a", "image/png"), await storage.beginParts("b", "image/png")];
  await storage.putPart(old.uploadId, 1, text());
  await storage.put("kept.webp", text(), "image/webp");
  const [now, before] = [new Date(), new Date(Date.now() - 60_000)];
  for (const path of ["unfinished/old", `uploads/${old.uploadId}`, "kept.webp"])
    await utimes(join(folder, path), now, before);
  await storage.dropAbandoned(new Date(Date.now() - 30_000), () => true);
  expect(await readdir(join(folder, "unfinished"))).toEqual(["young"]);
  expect(await readdir(join(folder, "uploads"))).toEqual([young.uploadId]);
  expect(await storage.size("kept.webp")).toBe(4);
});

test("a folder that cannot be used is storage that is unavailable, whatever is asked of it", async () => {
  // what is in its place is a file, which stops everybody, also who may write anywhere
  const path = join(folder, "no-folder");
  await writeFile(path, "");
  const broken = folderStorage(path, () => "unused");
  const upload = { key: "a", uploadId: "u" };
  const outcomes = await Promise.allSettled([
    broken.check(),
    broken.put("a", text(), "image/png"),
    broken.size("a"),
    broken.read("a"),
    broken.delete("a/b"),
    broken.beginParts("a", "image/png"),
    broken.putPart("u", 1, text()),
    broken.joinParts(upload, [{ partNumber: 1, etag: "x" }]),
    broken.dropAbandoned(new Date(), () => true),
  ]);
  expect(outcomes).toHaveLength(9);
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(StorageUnavailable) });
});

test("a part that is sent again takes the place of the one before, and a wrong list of parts copies nothing", async () => {
  const upload = await storage.beginParts("again.pdf", "application/pdf");
  const first = await storage.putPart(upload.uploadId, 1, Readable.from([Buffer.from("first")]));
  const second = await storage.putPart(upload.uploadId, 1, text());
  expect(await readdir(join(folder, "uploads", upload.uploadId))).toHaveLength(1);
  const written = async () => (await stat(join(folder, "unfinished"))).mtimeMs;
  const before = await written();
  await expect(storage.joinParts(upload, [{ partNumber: 1, etag: first }])).rejects.toThrow(WrongParts);
  expect(await written()).toBe(before);
  const parts = [{ partNumber: 1, etag: second }];
  const outcomes = await Promise.allSettled([storage.joinParts(upload, parts), storage.joinParts(upload, parts)]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(await storage.size("again.pdf")).toBe(4);
});

test("a part that goes while the parts are joined is a wrong part, and nothing is left of the file", async () => {
  const upload = await storage.beginParts("going.pdf", "application/pdf");
  const parts = [{ partNumber: 1, etag: await storage.putPart(upload.uploadId, 1, text()) }];
  const [name = ""] = await readdir(join(folder, "uploads", upload.uploadId));
  await rm(join(folder, "uploads", upload.uploadId, name));
  // it is listed, and cannot be opened
  await symlink("nowhere", join(folder, "uploads", upload.uploadId, name));
  await expect(storage.joinParts(upload, parts)).rejects.toThrow(WrongParts);
  expect(await storage.size("going.pdf")).toBeNull();
});

test("of a part that is sent many times at once one is kept, and what is sent after that takes its place", async () => {
  const upload = await storage.beginParts("many.pdf", "application/pdf");
  const send = (content: string) => storage.putPart(upload.uploadId, 1, Readable.from([Buffer.from(content)]));
  const kept = () => readdir(join(folder, "uploads", upload.uploadId));
  await Promise.all(Array.from({ length: 20 }, (_, n) => send(`content ${n}`)));
  expect(await kept()).toHaveLength(1);
  for (const content of ["first", "second", "first"]) await send(content);
  const etag = await send("the last");
  expect(await kept()).toHaveLength(1);
  await storage.joinParts(upload, [{ partNumber: 1, etag }]);
  expect(await storage.size("many.pdf")).toBe(8);
});
