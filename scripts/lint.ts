import "./command.js";
import { mkdir, writeFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { passedFiles, readSources, type Source } from "./lint/sources.js";
import { withMigratedDatabase } from "./migrated-database.js";
import { runTool } from "./run-tool.js";

// `npm run lint`: types, rules and formatting of everything, and the OpenAPI document. `npm run lint -- api/http …`: rules and
// formatting of these paths. Statements are checked against a migrated database. Files that passed are checked again once they, or
// anything that they import, have changed.

const cache = resolve("node_modules/.cache/lint");
const passed = passedFiles(`${cache}/passed.json`);

const paths = process.argv.slice(2).map((path) => relative("", path));
const isNamed = ({ path }: Source) =>
  paths.length === 0 || paths.some((named) => named === "" || path === named || path.startsWith(`${named}/`));

const all = await readSources(".");

/** A checker of types keeps what it makes: it needs a fifth less time when V8 does not look for garbage until it has made much. */
const roomy = ["--min-semi-space-size=64", "--max-semi-space-size=128", "--initial-heap-size=2000"];
const eslint = resolve("node_modules/eslint/bin/eslint.js");

/** Checks rules; the compiler reads only these files and what they import. */
async function checkRules(name: string, sources: readonly Source[], databaseUrl?: string): Promise<number> {
  if (sources.length === 0) return 0;
  const files = sources.map(({ path }) => path);
  const project = `${cache}/${name}.json`;
  await mkdir(cache, { recursive: true });
  const ambient = all.filter(({ isAmbient }) => isAmbient).map(({ path }) => path);
  const typed = [...files, ...ambient].filter((path) => path.endsWith(".ts")).map((path) => resolve(path));
  await writeFile(project, JSON.stringify({ extends: resolve("tsconfig.json"), include: [], files: typed }));
  const code = await runTool(
    process.execPath,
    [...roomy, eslint, "--max-warnings", "0", "--no-warn-ignored", ...files],
    {
      ...process.env,
      LINT_PROJECT: project,
      TSESTREE_SINGLE_RUN: "true",
      ...(databaseUrl !== undefined && { LINT_DATABASE_URL: databaseUrl }),
    },
  );
  if (code === 0) await passed.add(sources);
  return code;
}

async function checkStatements(sources: readonly Source[]): Promise<number> {
  if (sources.length === 0) return 0;
  let code = 1;
  await withMigratedDatabase(async (databaseUrl) => {
    code = await checkRules("statements", sources, databaseUrl);
  });
  return code;
}

async function checkTheRest(): Promise<number> {
  const linted = paths.length > 0 ? paths.map((path) => path || ".") : ["."];
  const cached = ["--cache", "--cache-strategy", "content"];
  const format = await runTool("prettier", ["--check", "--log-level", "warn", ...cached, ...linted]);
  if (paths.length > 0) return format;
  const types = await runTool("npm", ["run", "--silent", "types"]);
  return Math.max(format, types, await runTool("tsx", ["scripts/lint/openapi.ts"]));
}

const open = await passed.open(all.filter(isNamed));
// three processes of about the same weight
const codes = await Promise.all([
  checkStatements(open.filter(({ hasStatements }) => hasStatements)),
  checkRules(
    "other",
    open.filter(({ hasStatements }) => !hasStatements),
  ),
  checkTheRest(),
]);
process.exitCode = Math.max(...codes);
