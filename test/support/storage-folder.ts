import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for the files of one test file; to be set before anything reads the configuration. */
export function storageFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "surplus-food-files-"));
  process.env["STORAGE_DIR"] = path;
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
