import { watch } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Editors may save several files, and each in several steps. */
const QUIET_MS = 150;

/** Calls `onChange` with the paths of changed source files, once nothing has changed for a moment. */
export function watchSource(folders: readonly string[], onChange: (files: string[]) => void): void {
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  for (const folder of folders) {
    watch(join(ROOT, folder), { recursive: true }, (_event, file) => {
      if (!file || !/\.(ts|sql)$/.test(file)) return;
      changed.add(join(folder, file));
      clearTimeout(timer);
      timer = setTimeout(() => {
        const files = [...changed];
        changed.clear();
        onChange(files);
      }, QUIET_MS);
    });
  }
}
