import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "@jest/globals";
import { folderStorage } from "../../lib/folder-storage.js";
import type { Storage } from "../../lib/storage.js";
import { describeStorage } from "./storage-promises.js";

let folder: string;
let storage: Storage;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "storage-"));
  storage = folderStorage(folder, () => "unused");
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const files = async () =>
  (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());

describeStorage("a folder", { storage: () => storage, count: async () => (await files()).length });
