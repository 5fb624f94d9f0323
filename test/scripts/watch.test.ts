import { appendFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { watchSource } from "../../scripts/watch.js";
import { scratchFolder } from "../support/scratch.js";
import { until } from "../support/until.js";

let folder: string;
let stop: () => void;
let changed: string[];

const inFolder = (path: string) => join(folder, path);

beforeEach(async () => {
  folder = await scratchFolder("watch");
  await mkdir(inFolder("api/routes"), { recursive: true });
  await mkdir(inFolder("test"));
  await writeFile(inFolder("api/routes/boxes.ts"), "1");
  changed = [];
  stop = watchSource(folder, ["api"], (files) => changed.push(...files));
});

afterEach(async () => {
  stop();
  await rm(folder, { recursive: true });
});

/** Makes a change, and returns the files that are reported next. */
async function after(change: () => Promise<unknown>): Promise<string[]> {
  changed = [];
  await change();
  await until(() => changed.length > 0);
  return changed;
}

const write = (path: string) => after(() => appendFile(inFolder(path), "2"));

/** As editors and Git do it. */
const replace = (path: string) =>
  after(async () => {
    await writeFile(inFolder(`${path}.new`), "3");
    await rename(inFolder(`${path}.new`), inFolder(path));
  });

describe("a watch of the source", () => {
  test("notices every change of a file, also once another one has taken its place", async () => {
    expect(await write("api/routes/boxes.ts")).toEqual(["api/routes/boxes.ts"]);
    expect(await replace("api/routes/boxes.ts")).toEqual(["api/routes/boxes.ts"]);
    expect(await replace("api/routes/boxes.ts")).toEqual(["api/routes/boxes.ts"]);
    expect(await write("api/routes/boxes.ts")).toEqual(["api/routes/boxes.ts"]);
    expect(await after(() => rm(inFolder("api/routes/boxes.ts")))).toEqual(["api/routes/boxes.ts"]);
  });

  test("notices files in new folders, also in one that was deleted before", async () => {
    for (const text of ["first", "second"]) {
      const made = await after(async () => {
        await mkdir(inFolder("api/ops/page"), { recursive: true });
        await writeFile(inFolder("api/ops/page/docs.ts"), text);
      });
      expect(made).toEqual(["api/ops/page/docs.ts"]);
      expect(await write("api/ops/page/docs.ts")).toEqual(["api/ops/page/docs.ts"]);
      await after(() => rm(inFolder("api/ops"), { recursive: true }));
    }
  });

  test("leaves out what is no source, and other folders", async () => {
    await writeFile(inFolder("api/notes.md"), "");
    await writeFile(inFolder("test/boxes.ts"), "");
    expect(await write("api/routes/boxes.ts")).toEqual(["api/routes/boxes.ts"]);
  });
});
