import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";
import { endpoints } from "../../api/app.js";
import { openApiDocument } from "../../api/http/openapi.js";
import { closeDatabase } from "../../sql/db.js";

const folder = fileURLToPath(new URL("../../scripts/demo", import.meta.url));
const exampleFile = `${folder}/client.example.ts`;
const example = readFileSync(exampleFile, "utf8");
let types: string;

beforeAll(async () => {
  types = astToString(await openapiTS(JSON.stringify(openApiDocument(endpoints))));
});

afterAll(closeDatabase);

/** What is on disk is parsed once for all programs. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/** The compiler's errors for the example, with the types that are generated from the document. */
function complaints(source: string): string[] {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    types: ["node"],
    noEmit: true,
  };
  const files = new Map([
    [exampleFile, source],
    [`${folder}/api.d.ts`, types],
  ]);
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (name) => files.has(name) || disk.fileExists(name),
    readFile: (name) => files.get(name) ?? disk.readFile(name),
    getSourceFile: (name, version, onError) => {
      const text = files.get(name);
      if (text !== undefined) return ts.createSourceFile(name, text, version);
      if (!parsed.has(name)) parsed.set(name, disk.getSourceFile(name, version, onError));
      return parsed.get(name);
    },
  };
  const program = ts.createProgram([exampleFile], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
}

test("a client generated from the document compiles", () => {
  expect(complaints(example)).toEqual([]);
});

test.each([
  ["a path", "/api/v1/boxes/{id}", "/api/v1/box/{id}"],
  ["a field of the request", "totalAmount:", "total:"],
  ["a field of the response", "data.pickupCode", "data.code"],
])("a mistake in %s does not compile", (_what, right, wrong) => {
  expect(complaints(example.replace(right, wrong))).not.toEqual([]);
});

const switching = `
import type { paths } from "./api.js";
type Conflict = paths["/api/v1/orders/{id}/cancel"]["post"]["responses"]["409"]["content"]["application/problem+json"];
export function explain(problem: Conflict): string {
  switch (problem.reason) {
    case "ORDER_MOVE_NOT_ALLOWED":
      return problem.orderStatus;
    case "TOO_LATE_TO_CANCEL":
      return problem.code satisfies "CONFLICT";
  }
}
`;

test("a client switches over the reasons of an endpoint, and the compiler knows when it has all of them", () => {
  expect(complaints(switching)).toEqual([]);
  expect(complaints(switching.replace(/case "TOO_LATE_TO_CANCEL":\n.*\n/, ""))).not.toEqual([]);
  expect(complaints(switching.replace("problem.orderStatus", "problem.available"))).not.toEqual([]);
});
