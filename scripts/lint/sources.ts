import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { z } from "zod";
import { parseJson } from "../../lib/process/parse-json.js";

/** A file that ESLint checks. */
export interface Source {
  /** Relative to the project's folder. */
  readonly path: string;
  /** Changes with anything that may change what ESLint says of the file. */
  readonly fingerprint: string;
  /** Whether the file may have SQL statements, which are checked against a migrated database. */
  readonly hasStatements: boolean;
  /** Whether it declares types for files that do not import it. */
  readonly isAmbient: boolean;
}

const skipped = /^(node_modules|dist|coverage|\..*)$/;
const isSource = (path: string) => /\.([cm]?js|ts)$/.test(path) && !path.endsWith(".example.ts");
/** The rules, and what they know of packages and of the database. */
const isForAll = (path: string) =>
  /^(eslint\.config\.js|tsconfig\.json|package\.json|scripts\/lint\/.*|sql\/.*\.sql)$/.test(path);
/** Declares types for files that do not import it. */
const isAmbient = (text: string) => /^\s*declare (global|module)\b/m.test(text);
const hash = (...parts: readonly string[]) => createHash("sha256").update(parts.join("\0")).digest("base64url");

async function namesIn(root: string): Promise<string[]> {
  const names = (await readdir(root, { withFileTypes: true })).filter(({ name }) => !skipped.test(name));
  const all = await Promise.all(
    names.map(async (entry) => {
      if (!entry.isDirectory()) return [entry.name];
      const inside = await readdir(join(root, entry.name), { withFileTypes: true, recursive: true });
      return inside.filter((each) => each.isFile()).map((each) => relative(root, join(each.parentPath, each.name)));
    }),
  );
  return all.flat().sort();
}

/** The files that a file may import: whatever it names by a relative path. */
function importsOf(path: string, text: string, known: ReadonlyMap<string, string>): string[] {
  const named = Array.from(text.matchAll(/["'`](\.{1,2}\/[^"'`]+)["'`]/g), ([, name = ""]) =>
    join(dirname(path), name),
  );
  return named.flatMap((name) => [name, name.replace(/\.js$/, ".ts")]).filter((name) => known.has(name));
}

/**
 * Lists the files that ESLint checks. What its rules say of a file depends on types, so that a file's fingerprint covers the file,
 * all that it imports, directly or not, the packages, the migrations and the rules.
 */
export async function readSources(root: string): Promise<Source[]> {
  const names = (await namesIn(root)).filter((name) => isSource(name) || isForAll(name));
  const read = async (name: string) => [name, await readFile(join(root, name), "utf8")] as const;
  const texts = new Map(await Promise.all(names.map(read)));
  const digests = new Map(Array.from(texts, ([name, text]) => [name, hash(text)]));
  const imports = new Map(Array.from(texts, ([name, text]) => [name, importsOf(name, text, texts)]));
  const packages = await readFile(join(root, "node_modules/.package-lock.json"), "utf8").catch(() => "");
  const forAll = names.filter((name) => isForAll(name) || isAmbient(texts.get(name) ?? ""));
  const common = hash(packages, ...forAll.map((name) => `${name} ${digests.get(name)}`));

  return names.filter(isSource).map((path) => {
    const reached = new Set([path]);
    for (const each of reached) for (const next of imports.get(each) ?? []) reached.add(next);
    const parts = [...reached].sort().map((name) => `${name} ${digests.get(name)}`);
    // as `checkedSql` of eslint.config.js says
    const hasStatements = !path.startsWith("test/") && /\b(db|sql|tx)\b/.test(texts.get(path) ?? "");
    return { path, fingerprint: hash(common, ...parts), hasStatements, isAmbient: isAmbient(texts.get(path) ?? "") };
  });
}

const Passed = z.record(z.string(), z.string());

/** The fingerprints of files that passed, by their paths, in a file. */
export function passedFiles(file: string) {
  const read = async () => Passed.safeParse(parseJson(await readFile(file, "utf8").catch(() => ""))).data ?? {};
  return {
    /** Returns the files that have not passed as they are. */
    async open(sources: readonly Source[]): Promise<Source[]> {
      const passed = await read();
      return sources.filter(({ path, fingerprint }) => passed[path] !== fingerprint);
    },
    async add(sources: readonly Source[]): Promise<void> {
      const passed = { ...(await read()), ...Object.fromEntries(sources.map((each) => [each.path, each.fingerprint])) };
      await mkdir(dirname(file), { recursive: true });
      await writeFile(`${file}.${process.pid}`, JSON.stringify(passed));
      await rename(`${file}.${process.pid}`, file);
    },
  };
}
