import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

// `npm start`: compiles the source when it has changed, and runs scripts/start.ts. It is JavaScript, as Node 20 runs nothing else:
// with a compiler in each of its three processes the service was ready after twice the time.

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const KEPT = join(ROOT, "node_modules/.cache/compiled");
const rooms = ["lib", "queues", "sql", "api", "workers", "scripts"];
/** Services that still run load some of their modules only when they need them. */
const KEPT_VERSIONS = 3;

function hashOfSource() {
  const hash = createHash("sha256");
  const files = rooms.flatMap((room) =>
    readdirSync(join(ROOT, room), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  for (const file of [...files.sort(), join(ROOT, "package.json"), join(ROOT, "package-lock.json")])
    hash.update(`${file}\n`).update(readFileSync(file));
  return hash.digest("hex").slice(0, 16);
}

function compileInto(folder) {
  const unfinished = `${folder}.${process.pid}`;
  const program = `
    import { compile } from ${JSON.stringify(new URL("compile.ts", import.meta.url).href)};
    await compile(${JSON.stringify(unfinished)}, ${JSON.stringify(rooms)});`;
  // in a process that ends: a compiler takes memory
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "--eval", program];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) {
    rmSync(unfinished, { recursive: true, force: true });
    process.exit(1);
  }
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    // another start was as far
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

function removeOldVersions() {
  const age = (name) => statSync(join(KEPT, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const versions = readdirSync(KEPT).sort((one, other) => age(other) - age(one));
  for (const name of versions.slice(KEPT_VERSIONS)) rmSync(join(KEPT, name), { recursive: true, force: true });
}

const folder = join(KEPT, hashOfSource());
if (!existsSync(folder)) {
  compileInto(folder);
  removeOldVersions();
}
utimesSync(folder, new Date(), new Date());
process.argv[1] = join(folder, "scripts/start.js");
await import(pathToFileURL(process.argv[1]).href);
