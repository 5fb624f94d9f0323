import "./command.js";
import { rm } from "node:fs/promises";
import { bundlePackages } from "./bundle-packages.js";
import { copyAssets } from "./copy-assets.js";
import { runTool } from "./run-tool.js";

/** `npm run build`: what production runs, in `dist`; tsconfig.build.json names it. */

/** By its path: `tsc` on the PATH may be that of `typescript-native`. */
const compiler = "node_modules/typescript/bin/tsc";

// what an earlier version had must not stay
await rm("dist", { recursive: true, force: true });
process.exitCode = await runTool(process.execPath, [compiler, "-p", "tsconfig.build.json"]);
await bundlePackages("dist");
await copyAssets("dist");
