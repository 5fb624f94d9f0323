import { readFile, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isNativeError } from "node:util/types";
import { z } from "zod";

const Links = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Makes the missing links among the libraries of an embedded Postgres, the npm package in `folder`. Packages cannot contain
 * links; an install script would make them, but no install script runs (.npmrc).
 */
export async function linkLibraries(folder: string): Promise<void> {
  const list = await readFile(join(folder, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of Links.parse(JSON.parse(list))) {
    await symlink(relative(dirname(target), source), join(folder, target)).catch((error: unknown) => {
      if (!(isNativeError(error) && "code" in error && error.code === "EEXIST")) throw error;
    });
  }
}
