import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Programs that a process with `path` as its PATH finds before the machine's own. */
export interface StandIns {
  /** The folder that holds only these programs. */
  folder: string;
  path: string;
  remove(): Promise<void>;
}

/** Writes shell scripts under the names of the programs they replace; `behind` is the rest of the PATH. */
export async function standIns(scripts: Record<string, string>, behind = ""): Promise<StandIns> {
  const folder = await mkdtemp(join(tmpdir(), "surplus-food-programs-"));
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, name), 0o755);
  }
  return {
    folder,
    path: [folder, behind].filter(Boolean).join(":"),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
