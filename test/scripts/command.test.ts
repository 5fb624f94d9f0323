import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { compiled } from "../support/compiled.js";
import { scratchFolder } from "../support/scratch.js";

/** Runs a script in an empty folder, without any environment. */
async function run(script: string, args: readonly string[]) {
  const cwd = await scratchFolder("nowhere");
  const env = { PATH: process.env["PATH"] };
  const outcome = await new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const child = execFile(process.execPath, [compiled(script), ...args], { cwd, env }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, out, err }),
    );
  });
  return { ...outcome, left: await readdir(cwd) };
}

/** The scripts that package.json names, by their npm name. */
const { scripts } = JSON.parse(await readFile("package.json", "utf8")) as { scripts: Record<string, string> };
const own = Object.entries(scripts).flatMap(([name, line]) => {
  const [, path] = /^(?:tsx|node --import tsx) (scripts\/\S+\.ts)/.exec(line) ?? [];
  return path === undefined ? [] : [[name, path] as const];
});

test.each([...own, ["release", "scripts/migrate.ts"] as const])(
  "npm run %s -- --help says what it does, without an environment, and does nothing",
  async (_name, path) => {
    expect(await run(path, ["--help"])).toEqual({
      code: 0,
      out: expect.stringMatching(/^Usage: np[mx] [^\n]+\n\n[A-Z][^\n]+\.\n$/),
      err: "",
      left: [],
    });
  },
);

test.each([
  "check/main",
  "grant-admin",
  "migrate",
  "replay",
  "restore-drill/main",
  "rollup",
  "rotate-credentials",
  "seed",
  "upkeep",
])("%s says in one line where its environment would come from when there is none", async (name) => {
  expect(await run(`scripts/${name}.ts`, [])).toEqual({
    code: 1,
    out: "",
    err: expect.stringMatching(/^No service is configured here: run npm start first[^\n]+\n$/),
    left: [],
  });
});
