import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { compiled } from "../support/compiled.js";
import { scratchFolder } from "../support/scratch.js";

/** Runs a script in an empty folder, without any environment but what is given. */
async function run(script: string, args: readonly string[], given: NodeJS.ProcessEnv = {}) {
  const cwd = await scratchFolder("nowhere");
  const env = { PATH: process.env["PATH"], ...given };
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
  const [, path] = /^(?:tsx(?: --import \S+)?|node --import tsx) (scripts\/\S+\.ts)/.exec(line) ?? [];
  return path === undefined ? [] : [[name, path] as const];
});

test.each([...own, ["release", "scripts/migrate.ts"] as const])(
  "npm run %s -- --help says what it does, without an environment, and does nothing",
  async (_name, path) => {
    expect(await run(path, ["--help"])).toEqual({
      code: 0,
      out: expect.stringMatching(/^Usage: (?:npm|node) [^\n]+\n\n[A-Z][^\n]+\.\n$/),
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

test.each(["build", "client/main", "demo/main", "keys", "migrate", "rotate-credentials", "start", "write-variables"])(
  "%s refuses an argument, in one line, and does nothing",
  async (name) => {
    expect(await run(`scripts/${name}.ts`, ["--bogus"])).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(/^Usage: (?:npm|node) [^\n]+; it takes no arguments\n$/),
      left: [],
    });
  },
);

test("fuzz sends nothing in production", async () => {
  const { code, out, err } = await run("scripts/fuzz.ts", [], { NODE_ENV: "production" });
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(/^Hostile requests [^\n]+ not sent in production\.\n$/);
});

test("in production a script reports everything that is missing", async () => {
  const { code, out, err } = await run("scripts/check/main.ts", [], { NODE_ENV: "production" });
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(/^Wrong configuration:\n/);
  for (const name of ["PUBLIC_URL", "DATABASE_URL", "SIGNING_KEYS", "CREDENTIALS_KEYS", "METRICS_TOKEN"])
    expect(err).toContain(`  ${name} is missing`);
});
