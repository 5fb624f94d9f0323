import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { passedFiles, readSources } from "../../../scripts/lint/sources.js";
import { scratchFolder } from "../../support/scratch.js";

let root: string;

const write = async (path: string, text: string) => {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
};

beforeEach(async () => {
  root = await scratchFolder("sources");
  await write("eslint.config.js", "");
  await write("sql/migrations/001.do.sql", "create table t ()");
  await write("lib/price.ts", "export const price = 1;");
  await write("lib/box.ts", 'export { price } from "./price.js";');
  await write("api/app.ts", 'const { price } = await import("../lib/box.js");');
  await write("api/orders.ts", "await sql`select 1`;");
  await write("test/orders.test.ts", "await sql`select 1`;");
  await write("api/client.example.ts", "");
  await write("lib/ambient.d.ts", 'declare module "a" {}');
  await write("node_modules/.package-lock.json", "{}");
  await write("node_modules/a/index.js", "");
  await write("dist/app.js", "");
});

afterEach(() => rm(root, { recursive: true, force: true }));

test("sources are the project's own files, and those with statements are known", async () => {
  const sources = await readSources(root);
  expect(sources.map(({ path }) => path)).toEqual(
    "api/app.ts api/orders.ts eslint.config.js lib/ambient.d.ts lib/box.ts lib/price.ts test/orders.test.ts".split(" "),
  );
  expect(sources.filter(({ hasStatements }) => hasStatements).map(({ path }) => path)).toEqual(["api/orders.ts"]);
  expect(sources.filter(({ isAmbient }) => isAmbient).map(({ path }) => path)).toEqual(["lib/ambient.d.ts"]);
});

const everything =
  "api/app.ts api/orders.ts eslint.config.js lib/ambient.d.ts lib/box.ts lib/price.ts test/orders.test.ts";

test.each([
  ["lib/price.ts", "api/app.ts lib/box.ts lib/price.ts"],
  ["api/app.ts", "api/app.ts"],
  ["lib/ambient.d.ts", everything],
  ["sql/migrations/001.do.sql", everything],
  ["eslint.config.js", everything],
  ["node_modules/.package-lock.json", everything],
  ["node_modules/a/index.js", ""],
])("after a change of %s these are checked again: %s", async (changed, again) => {
  const passed = passedFiles(join(root, "passed.json"));
  const sources = await readSources(root);
  expect(await passed.open(sources)).toEqual(sources);
  await passed.add(sources.slice(0, 2));
  await passed.add(sources.slice(2));
  expect(await passed.open(await readSources(root))).toEqual([]);
  await write(changed, changed.endsWith(".d.ts") ? 'declare module "b" {}' : "const other = 1;");
  const open = await passed.open(await readSources(root));
  expect(open.map(({ path }) => path).join(" ")).toBe(again);
});
