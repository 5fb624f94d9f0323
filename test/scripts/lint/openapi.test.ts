import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { compiled } from "../../support/compiled.js";

const price = { type: "number" };
const document = {
  openapi: "3.1.0",
  info: { title: "A market", version: "1", description: "Boxes.", license: { name: "MIT", identifier: "MIT" } },
  servers: [{ url: "https://api.market.test" }],
  security: [],
  tags: [{ name: "Boxes", description: "Boxes." }],
  paths: {
    "/boxes": {
      get: {
        operationId: "readBoxes",
        summary: "Boxes",
        description: "Boxes.",
        tags: ["Boxes"],
        parameters: [{ name: "below", in: "query", description: "a price", schema: price, example: 5 as unknown }],
        responses: {
          200: {
            description: "a box",
            content: {
              "application/json": { schema: { $ref: "#/components/schemas/Box" }, example: { price: 1 as unknown } },
            },
          },
          400: { description: "a mistake" },
        },
      },
    },
  },
  components: { schemas: { Box: { type: "object", properties: { price: { ...price, examples: [1 as unknown] } } } } },
};

/** The rules that find something in a document, once each. */
async function rulesThatFind(text: string): Promise<unknown> {
  // the linters bring modules that Jest cannot load
  const program = `
    import { findingsOf } from ${JSON.stringify(compiled("scripts/lint/openapi-findings.ts"))};
    const rules = (await findingsOf(process.argv[1])).map(({ rule }) => rule);
    console.log(JSON.stringify([...new Set(rules)].sort()));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program, text]);
  return JSON.parse(stdout) as unknown;
}

test("the linters find nothing in a sound document, and every example that breaks its schema", async () => {
  expect(await rulesThatFind(JSON.stringify(document))).toEqual([]);
  const wrong = structuredClone(document);
  wrong.paths["/boxes"].get.parameters[0]!.example = "cheap";
  wrong.paths["/boxes"].get.responses[200].content["application/json"].example.price = "dear";
  wrong.components.schemas.Box.properties.price.examples = ["much"];
  expect(await rulesThatFind(JSON.stringify(wrong))).toEqual([
    "no-invalid-media-type-examples",
    "no-invalid-parameter-examples",
    "no-invalid-schema-examples",
  ]);
});
