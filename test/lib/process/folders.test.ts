import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { folderFault, makeFolder } from "../../../lib/process/folders.js";
import { compiled } from "../../support/compiled.js";
import { scratchFolder } from "../../support/scratch.js";

let folder: string;

beforeAll(async () => {
  folder = await scratchFolder("folders");
  await writeFile(join(folder, "file"), "");
  await symlink(join(folder, "circle"), join(folder, "circle"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("a folder is made with those that it is in, once or several times at once, and no probe is left in it", async () => {
  const path = join(folder, "a/b/c");
  expect(await Promise.all([folderFault(path), folderFault(path), makeFolder(path)])).toEqual([null, null, undefined]);
  expect(await readdir(path)).toEqual([]);
});

test.each([
  ["file", "a part of the path is a file"],
  ["file/below", "a part of the path is a file"],
  ["circle/below", "links in the path lead in a circle"],
  ["n".repeat(300), "a name in the path is too long"],
])("%.20s cannot be used: %s", async (name, why) => {
  expect(await folderFault(join(folder, name))).toBe(why);
});

test.each(["/proc", "/proc/nope", "/proc/nope/below", "/proc/self/nope"])(
  "%s cannot be used, and is not tried for ever",
  async (path) => {
    expect(await folderFault(path)).toBe("no folder can be made there");
  },
);

test("an ordinary user is told where nothing may be written", async () => {
  const path = join(folder, "locked");
  await makeFolder(path);
  await chmod(path, 0o555);
  const code = `import { folderFault } from ${JSON.stringify(compiled("lib/process/folders.ts"))};
    if (process.getuid() === 0) process.setuid(65534);
    for (const path of process.argv.slice(1)) console.log(await folderFault(path));`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", code, path, join(path, "below")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  expect(output).toBe("this user may not write there\n".repeat(2));
});
