import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { z } from "zod";

/**
 * What a process loads at its start, by package. To find, read and compile the 600 files of these packages takes a third or more
 * of the CPU time of a start. Packages that are loaded when they are first needed stay as they were installed, and so does pino,
 * which looks for files of its own.
 */
export const bundled: Readonly<Record<string, readonly string[]>> = {
  "@sindresorhus/slugify": ["."],
  bullmq: ["."],
  busboy: ["."],
  cors: ["."],
  "csv-parse": [".", "./sync"],
  express: ["."],
  "file-type": ["."],
  helmet: ["."],
  ioredis: ["."],
  "ipaddr.js": ["."],
  jose: ["."],
  pg: ["."],
  postgres: ["."],
  "prom-client": ["."],
  undici: ["."],
  "web-push": ["."],
  zod: ["."],
  "zod-openapi": ["."],
};

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const Exports = z.array(z.tuple([z.string(), z.array(z.string())]));

/** The names of what modules export, as Node finds them: esbuild finds none in CommonJS, and other loaders find others. */
async function exportsOf(modules: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const program = `
    const all = ${JSON.stringify(modules)}.map(async (name) => [name, Object.keys(await import(name))]);
    console.log(JSON.stringify(await Promise.all(all)));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: ROOT,
    env: {},
  });
  // from Node 22.13 on CommonJS modules also have their whole as "module.exports"
  return new Map(
    Exports.parse(JSON.parse(stdout)).map(([name, names]) => [name, names.filter((each) => each !== "module.exports")]),
  );
}

/** A module that exports these names of another. */
const reexport = (specifier: string, names: readonly string[]) => `
  import * as all from ${JSON.stringify(specifier)};
  const { ${names.map((name, index) => `${name}: v${index}`).join(", ")} } = all;
  export { ${names.map((name, index) => `v${index} as ${name}`).join(", ")} };`;

/**
 * Writes these packages into `folder/node_modules`, as a file for each and files that they share, where the programs in `folder`
 * find them first. Their own parts and versions are those of this project's `node_modules`.
 */
export async function bundlePackages(folder: string): Promise<void> {
  const outdir = join(folder, "node_modules");
  const modules = Object.entries(bundled).flatMap(([name, paths]) => paths.map((path) => join(name, path)));
  const exported = await exportsOf(modules);
  await build({
    entryPoints: modules.map((specifier) => ({ in: `reexport:${specifier}`, out: `${specifier}/index` })),
    plugins: [
      {
        name: "reexport",
        setup: (builder) => {
          builder.onResolve({ filter: /^reexport:/ }, ({ path }) => ({ path: path.slice(9), namespace: "reexport" }));
          builder.onLoad({ filter: /^/, namespace: "reexport" }, ({ path }) => ({
            contents: reexport(path, exported.get(path) ?? []),
            resolveDir: ROOT,
          }));
        },
      },
    ],
    outdir,
    chunkNames: ".shared/[hash]",
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    // V8 keeps the text of a module in memory; names stay, for stack traces
    minifyWhitespace: true,
    minifySyntax: true,
    target: "node20",
    // pg, on Node 20, and undici look whether there are such, and with them 5 MB of Node's own HTTP client are loaded
    define: { navigator: JSON.stringify({ userAgent: "Node.js" }), "globalThis.Headers": "undefined" },
    // modules in CommonJS load Node's own by `require`
    banner: { js: 'import{createRequire as _}from"node:module";const require=_(import.meta.url);' },
    logLevel: "warning",
  });
  for (const [name, paths] of Object.entries(bundled)) {
    const exports = Object.fromEntries(paths.map((path) => [path, `${path}/index.js`]));
    await mkdir(join(outdir, name), { recursive: true });
    await writeFile(join(outdir, name, "package.json"), JSON.stringify({ name, type: "module", exports }));
  }
}
