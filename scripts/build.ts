import "./command.js";
import { rm } from "node:fs/promises";
import { bundlePackages } from "./bundle-packages.js";
import { copyAssets } from "./copy-assets.js";
import { runTool } from "./run-tool.js";

/** `npm run build`: what production runs, in `dist`; tsconfig.build.json names it. */

/** The native compiler, by its path: `tsc` on the PATH may be either of the two. */
const compiler = "node_modules/typescript-native/bin/tsc";

// what an earlier version had must not stay
await rm("dist", { recursive: true, force: true });
process.exitCode = await runTool(process.execPath, [compiler, "-p", "tsconfig.build.json"]);
await bundlePackages("dist");
await copyAssets("dist");
