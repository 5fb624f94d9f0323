import { cp, mkdir, readdir } from "node:fs/promises";
import { dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { bundlePackages } from "./bundle-packages.js";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/**
 * Compiles these rooms into `folder` without checking types, with the files that programs read, and packages as production has
 * them. A process that compiles itself takes two to four times the CPU time to start. `folder` must have this project's
 * `node_modules` above it.
 */
export async function compile(folder: string, rooms: readonly string[]): Promise<void> {
  const files = [...(await Promise.all(rooms.map(filesIn))).flat(), "package.json"];
  const isSource = (file: string) => extname(file) === ".ts";
  await Promise.all([...new Set(files.map(dirname))].map((name) => mkdir(join(folder, name), { recursive: true })));
  await Promise.all([
    build({
      entryPoints: files.filter(isSource),
      absWorkingDir: ROOT,
      outbase: ROOT,
      outdir: folder,
      format: "esm",
      platform: "node",
      target: "node20",
      sourcemap: true,
      sourcesContent: false,
      logLevel: "warning",
    }),
    ...files.filter((file) => !isSource(file)).map((file) => cp(join(ROOT, file), join(folder, file))),
  ]);
  await bundlePackages(folder);
}
