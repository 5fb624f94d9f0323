import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Programs that are found before the machine's, where a process has `path` for its PATH. */
export interface StandIns {
  /** Holds these programs, and nothing else. */
  folder: string;
  path: string;
  remove(): Promise<void>;
}

/** Writes shell scripts under the names of the programs that they stand in for; `behind` is where others are looked for. */
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
