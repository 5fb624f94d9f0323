import "./command.js";

/** Loaded before a script that imports development dependencies: in a deployment one line says that they are needed. */

try {
  import.meta.resolve("@oazapfts/runtime");
} catch {
  process.stderr.write("This needs the development dependencies, which npm prune removes: run npm ci first.\n");
  process.exit(1);
}
