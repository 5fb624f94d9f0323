import { mkdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { linkLibraries } from "../../scripts/link-libraries.js";
import { scratchFolder } from "../support/scratch.js";

test("libraries are linked as the package says, also when some are already, or at the same time", async () => {
  const folder = await scratchFolder("libraries");
  await mkdir(join(folder, "native/lib/deep"), { recursive: true });
  await writeFile(join(folder, "native/lib/libpq.so.5.18"), "code");
  const targets = ["native/lib/libpq.so", "native/lib/deep/libpq.so.5"];
  const links = targets.map((target) => ({ source: "native/lib/libpq.so.5.18", target }));
  await writeFile(join(folder, "native/pg-symlinks.json"), JSON.stringify(links));
  await Promise.all([linkLibraries(folder), linkLibraries(folder)]);
  await linkLibraries(folder);
  for (const target of targets) expect(await readFile(join(folder, target), "utf8")).toBe("code");
  expect(await readlink(join(folder, "native/lib/libpq.so"))).toBe("libpq.so.5.18");
  await rm(folder, { recursive: true });
});

test("a package without a list needs no links", async () => {
  const folder = await scratchFolder("libraries");
  await linkLibraries(folder);
  await rm(folder, { recursive: true });
});
