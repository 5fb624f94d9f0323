import "../document-environment.js";
import { readFile } from "node:fs/promises";
import { endpoints } from "../../api/app.js";
import { openApiDocument } from "../../api/http/openapi.js";
import { breaksBetween, explained } from "./breaks.js";
import { findingsOf, type Finding } from "./openapi-findings.js";
import { releasedPath, Surface, surfaceOf } from "./surface.js";

// Checks the OpenAPI document by the recommended rules, and that it breaks no app that was written for the last release.

const breakMessage = "Apps rely on it: keep it, or say in scripts/lint/breaks.ts why no app minds";

/** What breaks apps and is not explained, and explanations of what does not. */
async function byLastRelease(document: string): Promise<Finding[]> {
  const released = Surface.parse(JSON.parse(await readFile(releasedPath, "utf8")));
  const breaks = breaksBetween(released, surfaceOf(JSON.parse(document)));
  const known = explained.map(({ is }) => is);
  return [
    ...breaks.filter((is) => !known.includes(is)).map((is) => ({ rule: "breaks-apps", at: is, message: breakMessage })),
    ...known.filter((is) => !breaks.includes(is)).map((is) => ({ rule: "explained", at: is, message: "Is no break" })),
  ];
}

const document = JSON.stringify(openApiDocument(endpoints));
const unexplained = [...(await findingsOf(document)), ...(await byLastRelease(document))];
for (const { rule, at, message } of unexplained) process.stderr.write(`openapi.json ${at}\n  ${message} (${rule})\n`);
process.exit(unexplained.length > 0 ? 1 : 0);
