import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { transform } from "@swc/core";
import { bundlePackages } from "../../scripts/bundle-packages.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ROOMS = ["lib", "queues", "sql", "api", "workers", "scripts", "test/support"];

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

async function compile(file: string, folder: string): Promise<void> {
  const { code } = await transform(await readFile(join(ROOT, file), "utf8"), {
    filename: file,
    jsc: { parser: { syntax: "typescript" }, target: "es2022" },
    module: { type: "es6" },
  });
  await writeFile(join(folder, file.replace(/\.ts$/, ".js")), code);
}

/**
 * Compiles the programs that tests start, and copies the files that they read, into `folder/dist`, with packages as production
 * has them. A process that compiles itself takes twice the CPU time or more to start, and tests start hundreds.
 */
export async function compilePrograms(folder: string): Promise<void> {
  const dist = join(folder, "dist");
  const files = [...(await Promise.all(ROOMS.map(filesIn))).flat(), "package.json"];
  await Promise.all([...new Set(files.map(dirname))].map((name) => mkdir(join(dist, name), { recursive: true })));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await Promise.all(
    files.map((file) => (extname(file) === ".ts" ? compile(file, dist) : cp(join(ROOT, file), join(dist, file)))),
  );
  await bundlePackages(dist);
}
