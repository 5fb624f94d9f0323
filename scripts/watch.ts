import { readdirSync, statSync, watch, type FSWatcher } from "node:fs";
import { join } from "node:path";

/** Editors may save several files, and each in several steps. */
const QUIET_MS = 150;

/**
 * Calls `onChange` with the paths of changed source files in these folders of `root`, once nothing has changed for a moment.
 * Returns a function that ends this. Each folder is watched by itself: on Linux, Node's recursive `watch` no longer notices
 * changes of a file once an editor or Git has put a new one in its place.
 */
export function watchSource(root: string, folders: readonly string[], onChange: (files: string[]) => void): () => void {
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const note = (file: string) => {
    if (!/\.(ts|sql)$/.test(file)) return;
    changed.add(file);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const files = [...changed];
      changed.clear();
      onChange(files);
    }, QUIET_MS);
  };

  const isFolder = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() ?? false;

  /** Watches a folder and those in it; one that was made again is another one than before. */
  const follow = (folder: string, found: (file: string) => void) => {
    watchers.get(folder)?.close();
    const watcher = watch(join(root, folder), (event, name) => {
      if (name === null) return;
      const path = join(folder, name);
      if (event === "rename" && isFolder(path)) followNew(path);
      else note(path);
    });
    // on some systems a folder that is deleted is an error
    watcher.on("error", () => watcher.close());
    watchers.set(folder, watcher);
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) follow(path, found);
      else found(path);
    }
  };

  const followNew = (folder: string) => {
    try {
      follow(folder, note);
    } catch (error) {
      // it may have been deleted meanwhile
      if (isFolder(folder)) throw error;
    }
  };

  for (const folder of folders) follow(folder, () => undefined);
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
  };
}
