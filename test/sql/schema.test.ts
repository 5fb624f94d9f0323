import { readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { describeSchema, schemaPath } from "../../scripts/schema.js";

test("sql/schema.sql shows the migrated schema (`npm run schema` writes it)", async () => {
  expect(await describeSchema(process.env["DATABASE_URL"] ?? "")).toBe(await readFile(schemaPath, "utf8"));
});
