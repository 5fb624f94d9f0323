import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Runs the rule with the table of eslint.config.js on each line of code as a file of that path; returns the messages. */
async function refusals(files: readonly (readonly [path: string, code: string])[]): Promise<unknown> {
  const program = `
    import { Linter } from "eslint";
    import * as parser from "@typescript-eslint/parser";
    import config from "./eslint.config.js";
    const { plugins, rules } = config.find(({ rules }) => rules?.["house/imports"]);
    const settings = [{ files: ["**"], plugins, rules, languageOptions: { parser } }];
    const found = JSON.parse(process.argv[1]).map(([filename, code]) => new Linter().verify(code, settings, { filename }));
    console.log(JSON.stringify(found.map((messages) => messages.map(({ message }) => message).join(" "))));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", program, JSON.stringify(files)],
    { cwd: root },
  );
  return JSON.parse(stdout);
}

test("a room may import itself, its contents and the rooms in its list", async () => {
  const allowed = [
    ["lib/pos/iiko.ts", 'import "./menu.js"'],
    ["api/app.ts", 'import "./routes/boxes/search.js"'],
    ["api/routes/boxes/search.ts", 'import "../../http/endpoint.js"'],
    ["sql/signals.ts", 'import "./db.js"'],
    ["lib/domain/money.ts", 'import "zod"'],
    ["workers/consume.ts", 'import "bullmq"'],
  ] as const;
  expect(await refusals(allowed)).toEqual(allowed.map(() => ""));
});

test("a room may import nothing else, in any form of import", async () => {
  const refused = [
    ["lib/domain/money.ts", 'import "../process/log.js"', "lib/domain may not import lib/process."],
    ["queues/push.ts", 'import type { Db } from "../sql/db.js"', "queues may not import sql/db.ts."],
    [
      "api/routes/boxes/search.ts",
      'export * from "../geo/cities.js"',
      "api/routes/boxes may not import api/routes/geo.",
    ],
    ["workers/push.ts", 'await import("../api/app.js")', "workers may not import api."],
    ["sql/driver/tag.ts", 'import "../db.js"', "sql/driver may not import sql/db.ts."],
    [
      "api/app.ts",
      'import "bullmq"',
      "bullmq is only for queues/broker.ts, queues/connections.ts, queues/redis-broker.ts, workers, scripts/bench, test.",
    ],
    ["api/app.ts", 'import "@opentelemetry/api"', "@opentelemetry/api is only for lib/process/otlp.ts."],
  ] as const;
  expect(await refusals(refused.map(([path, code]) => [path, code]))).toEqual(refused.map(([, , message]) => message));
});

test("there are no import cycles", async () => {
  const folders = ["lib", "queues", "sql", "api", "workers", "scripts"];
  const listed = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(join(root, folder), { recursive: true });
      return names.filter((name) => name.endsWith(".ts")).map((name) => join(folder, name));
    }),
  );
  const imports = new Map<string, string[]>();
  for (const path of listed.flat()) {
    const specifiers = (await readFile(join(root, path), "utf8")).matchAll(/(?:from|import\() ?"(\.[^"]+)\.js"/g);
    imports.set(
      path,
      Array.from(specifiers, ([, specifier = ""]) => `${join(dirname(path), specifier)}.ts`),
    );
  }
  expect(imports.size).toBeGreaterThan(200);

  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, way: readonly string[]) => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(" → "));
    if (done.has(path) || way.includes(path)) return;
    for (const next of imports.get(path) ?? []) visit(next, [...way, path]);
    done.add(path);
  };
  for (const path of imports.keys()) visit(path, []);
  expect(circles).toEqual([]);
});

test("OpenTelemetry is loaded once traces are on, and not before", async () => {
  const traces = await readFile(join(root, "lib/process/traces.ts"), "utf8");
  expect(traces).not.toMatch(/from "\.\/otlp\.js"/);
  expect(traces).toContain('await import("./otlp.js")');
});
