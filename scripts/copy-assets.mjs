import { cp } from "node:fs/promises";

/** Files that the program reads at run time and the compiler does not copy. */
const assets = ["sql/migrations", "sql/functions", "scripts/demo"];
const isAsset = (source) => !/\.tsx?$/.test(source);

await Promise.all(assets.map((path) => cp(path, `dist/${path}`, { recursive: true, filter: isAsset })));
