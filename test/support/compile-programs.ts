import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "../../scripts/compile.js";

const NODE_MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** Compiles the programs that tests start, hundreds of times, into `folder/dist`. */
export async function compilePrograms(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await symlink(NODE_MODULES, join(folder, "node_modules"));
  await compile(join(folder, "dist"), ["lib", "queues", "sql", "api", "workers", "scripts", "test/support"]);
}
