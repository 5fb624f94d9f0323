import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { endpoints } from "../../api/app.js";
import { openApiDocument } from "../../api/http/openapi.js";

const Operation = z.object({ responses: z.record(z.string(), z.unknown()) }).loose();
const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ responses: z.record(z.string(), z.unknown()), schemas: z.record(z.string(), z.unknown()) }),
});

/** The document as JSON. It is made once in a run: every test file needs it, and to make it takes as long as some tests. */
function read(): string {
  const path = join(process.env["TEST_PROGRAMS"] ?? "", "openapi.json");
  if (existsSync(path)) return readFileSync(path, "utf8");
  const text = JSON.stringify(openApiDocument(endpoints));
  const whole = `${path}.${process.pid}`;
  writeFileSync(whole, text);
  renameSync(whole, path);
  return text;
}

/** The OpenAPI document of the service, as apps get it. */
export const document = Document.parse(JSON.parse(read()));
