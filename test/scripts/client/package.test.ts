import { execFile } from "node:child_process";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { build } from "esbuild";
import ts from "typescript";
import { endpoints } from "../../../api/app.js";
import { openApiDocument } from "../../../api/http/openapi.js";
import { buildPackage } from "../../../scripts/client/build.js";
import { generateOperations, operationsPath } from "../../../scripts/client/generate.js";
import { closeDatabase } from "../../../sql/db.js";
import { scratchFolder } from "../../support/scratch.js";

/** An app that has installed the package. */
let app: string;
let client: string;

beforeAll(async () => {
  app = await scratchFolder("client");
  client = join(app, "node_modules", "surplus-food-client");
  await mkdir(join(app, "node_modules", "@oazapfts"), { recursive: true });
  const runtime = fileURLToPath(new URL("../../../node_modules/@oazapfts/runtime", import.meta.url));
  await symlink(runtime, join(app, "node_modules", "@oazapfts", "runtime"));
  await writeFile(join(app, "package.json"), JSON.stringify({ type: "module" }));
  await buildPackage(client);
});

afterAll(async () => {
  await rm(app, { recursive: true, force: true });
  await closeDatabase();
});

/** The number of the compiler's complaints about each source, with everything strict and the package's own types checked too. */
async function complaints(sources: readonly string[]): Promise<number[]> {
  const files = sources.map((_source, index) => join(app, `app-${index}.ts`));
  await Promise.all(files.map((file, index) => writeFile(file, sources[index] ?? "")));
  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    noUncheckedIndexedAccess: true,
    preserveSymlinks: true,
    types: [],
    noEmit: true,
  });
  const found = ts.getPreEmitDiagnostics(program);
  const inApps = files.map((name) => found.filter(({ file }) => file?.fileName === name).length);
  expect(inApps.reduce((sum, count) => sum + count, 0)).toBe(found.length);
  return inApps;
}

test("the operations are those of the OpenAPI document (`npm run client` writes them)", async () => {
  expect(await generateOperations(openApiDocument(endpoints))).toBe(await readFile(operationsPath, "utf8"));
});

const rightApp = `
import { cancelOrder, done, openSession, placeOrderOnce, readBox, readProfile, Refused, rows, listOrders } from "surplus-food-client";

const session = openSession({ baseUrl: "https://api.example.com" });

export async function cancel(id: string): Promise<string> {
  const answer = await cancelOrder({ id }, session);
  if (answer.status !== 409) return String(answer.status);
  switch (answer.data.reason) {
    case "ORDER_MOVE_NOT_ALLOWED":
      return answer.data.orderStatus;
    case "TOO_LATE_TO_CANCEL":
      return answer.data.code satisfies "CONFLICT";
  }
}

export async function order(id: string): Promise<string | null> {
  const box = await done(readBox({ id }, session));
  const items = [{ menuItemId: id, qty: 1 }];
  const placed = await placeOrderOnce({ items, totalAmount: box.price, partnerId: box.partnerId }, session);
  for await (const { orderId } of rows((page) => listOrders({ ...page, status: "READY" }, session))) orderId.trim();
  return placed.pickupCode;
}

export const readName = async () => (await done(readProfile({}, session))).firstName;

export const explain = (error: unknown): number =>
  error instanceof Refused && error.problem?.reason === "TOO_MANY_REQUESTS" ? error.problem.retryAfterSeconds : 0;
`;

const mistakes = {
  "a reason is left out": [/case "TOO_LATE_TO_CANCEL":\n.*\n/, ""],
  "a reason is misspelt": ['"TOO_MANY_REQUESTS"', '"TOO_MANY"'],
  "a fact is another reason's": ["data.orderStatus", "data.available"],
  "a field of a request is misspelt": ["totalAmount:", "total:"],
  "a field of an answer is misspelt": ["box.price", "box.cost"],
  // it would be sent without a token
  "the session takes the place of arguments": ["readProfile({}, session)", "readProfile(session)"],
  "an operation is misspelt": ["readBox({", "getBox({"],
} as const;

test("an app compiles with --strict, and does not when it makes a mistake", async () => {
  const wrong = Object.values(mistakes).map(([right, mistake]) => rightApp.replace(right, mistake));
  const [right, ...found] = await complaints([rightApp, ...wrong]);
  expect(right).toBe(0);
  const unnoticed = Object.keys(mistakes).filter((_what, index) => found[index] === 0);
  expect(unnoticed).toEqual([]);
});

test("a bundle has only the operations that an app imports", async () => {
  const bundle = async (source: string) => {
    const { outputFiles } = await build({
      stdin: { contents: source, resolveDir: app },
      bundle: true,
      minify: true,
      format: "esm",
      write: false,
    });
    return outputFiles[0]?.text ?? "";
  };
  const one = await bundle(
    `import { openSession, readBox } from "surplus-food-client"; readBox({ id: "" }, openSession({ baseUrl: "" }));`,
  );
  expect(one.match(/\/api\/v1\/[\w/]+/g)).toEqual(["/api/v1/boxes/", "/api/v1/auth/token/refresh"]);
  expect(one.length).toBeLessThan(8_000);
});

test("npm packs modules and types, and nothing else", async () => {
  const { stdout } = await promisify(execFile)("npm", ["pack", "--dry-run", "--json"], { cwd: client });
  const [packed] = JSON.parse(stdout) as { name: string; version: string; files: { path: string }[] }[];
  const modules = [
    "answers",
    "index",
    "operations",
    "orders",
    "pages",
    "repeating",
    "server-sent-events",
    "session",
    "streams",
    "upload",
  ];
  expect(packed?.files.map(({ path }) => path).sort()).toEqual(
    ["LICENSE", "README.md", "package.json", ...modules.flatMap((name) => [`${name}.d.ts`, `${name}.js`])].sort(),
  );
});
