import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import { scratchFolder } from "../support/scratch.js";

/** A checkout whose source this test may change, with a `node_modules` of its own. */
let checkout: string;

beforeAll(async () => {
  checkout = await scratchFolder("checkout");
  for (const room of ["lib", "queues", "sql", "api", "workers", "scripts"])
    await cp(room, join(checkout, room), { recursive: true });
  for (const file of ["package.json", "package-lock.json", "tsconfig.json"]) await cp(file, join(checkout, file));
  await mkdir(join(checkout, "node_modules"));
  for (const name of await readdir("node_modules"))
    if (name !== ".cache")
      await symlink(join(process.cwd(), "node_modules", name), join(checkout, "node_modules", name));
});

/** Runs `npm start -- --help` in the checkout. */
const askForHelp = () =>
  new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      ["scripts/start-compiled.js", "--help"],
      { cwd: checkout },
      (_error, out, err) => resolve({ code: child.exitCode, out, err }),
    );
  });

const versions = () => readdir(join(checkout, "node_modules/.cache/compiled"));

async function change(replace: (text: string) => string) {
  const file = join(checkout, "scripts/command.ts");
  await writeFile(file, replace(await readFile(file, "utf8")));
}

test("npm start compiles the source once, and again when it has changed", async () => {
  const first = await askForHelp();
  expect(first).toEqual({ code: 0, out: expect.stringMatching(/^Usage: npm start/), err: "" });
  expect(await versions()).toHaveLength(1);
  expect(await askForHelp()).toEqual(first);
  expect(await versions()).toHaveLength(1);

  await change((text) => text.replace("Usage: ", "How to call it: "));
  expect(await askForHelp()).toMatchObject({ code: 0, out: expect.stringMatching(/^How to call it: npm start/) });
  await change((text) => text.replace("How to call it: ", "Usage: "));
  expect(await askForHelp()).toEqual(first);
  expect(await versions()).toHaveLength(2);
});

test("starts at the same time run, and leave one version of this source", async () => {
  await change((text) => `${text}// two\n`);
  const before = await versions();
  const outcomes = await Promise.all([askForHelp(), askForHelp()]);
  expect(outcomes.map(({ code, err }) => ({ code, err }))).toEqual([
    { code: 0, err: "" },
    { code: 0, err: "" },
  ]);
  const added = (await versions()).filter((name) => !before.includes(name));
  expect(added).toEqual([expect.stringMatching(/^\w+$/)]);
});

test("of many versions the newest three are kept", async () => {
  for (const number of [3, 4]) {
    await change((text) => `${text}// ${number}\n`);
    expect(await askForHelp()).toMatchObject({ code: 0 });
  }
  expect(await versions()).toHaveLength(3);
});

test("source that cannot be compiled is reported with its place, and what was compiled from it is not kept", async () => {
  const before = await versions();
  await change((text) => `${text}const = ;\n`);
  const { code, err } = await askForHelp();
  expect(code).toBe(1);
  expect(err).toMatch(/scripts\/command\.ts:\d+:\d+/);
  await change((text) => text.replace("const = ;\n", ""));
  expect(await askForHelp()).toMatchObject({ code: 0 });
  expect((await versions()).filter((name) => !before.includes(name))).toEqual([]);
});
