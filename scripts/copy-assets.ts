import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** Files that programs read at run time, and the compiler does not copy. */
const assets = ["sql/migrations", "sql/functions", "api/ops/docs-page", "api/conventions.md"];

/** Copies them into a folder of compiled programs. */
export const copyAssets = (folder: string) =>
  Promise.all(assets.map((path) => cp(join(ROOT, path), join(folder, path), { recursive: true })));
