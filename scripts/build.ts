import "./command.js";
import { cp, rm } from "node:fs/promises";
import { bundlePackages } from "./bundle-packages.js";
import { runTool } from "./run-tool.js";

/** `npm run build`: what production runs, in `dist`; tsconfig.build.json names it. */

/** Folders that the program reads at run time and the compiler does not copy. */
const assets = ["sql/migrations", "sql/functions", "api/ops/docs-page", "api/conventions.md"];

/** By its path: `tsc` on the PATH may be that of `typescript-native`. */
const compiler = "node_modules/typescript/bin/tsc";

// what an earlier version had must not stay
await rm("dist", { recursive: true, force: true });
process.exitCode = await runTool(process.execPath, [compiler, "-p", "tsconfig.build.json"]);
await bundlePackages("dist");
await Promise.all(assets.map((path) => cp(path, `dist/${path}`, { recursive: true })));
