import "../document-environment.js";
import { readFile } from "node:fs/promises";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectral from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { endpoints } from "../../api/app.js";
import { openApiDocument } from "../../api/http/openapi.js";
import { breaksBetween, explained } from "./breaks.js";
import { releasedPath, Surface, surfaceOf } from "./surface.js";

// Checks the OpenAPI document by the recommended rules of Redocly and Spectral, with the libraries of their command line tools, and
// that it breaks no app that was written for the last release.

/** Findings that are meant, by the names of their rules, with the end of the places where they are. */
const meant: readonly { rules: readonly string[]; at: RegExp; why: string }[] = [
  {
    rules: ["no-unused-components", "oas3-unused-component"],
    at: /schemas.Problem$/,
    why: "any error of any endpoint, for clients that handle all in one place",
  },
  {
    rules: ["no-ambiguous-paths"],
    at: /boxes~1\{id\}~1\w+$/,
    why: "`by-partner` is no id, so that no request matches both paths",
  },
  {
    rules: ["operation-2xx-response"],
    at: /banners~1\{id\}~1click/,
    why: "a click is only redirected",
  },
  { rules: ["info-contact"], at: /^info$/, why: "whom to ask is for the operator of a deployment to say" },
];

interface Finding {
  rule: string;
  at: string;
  message: string;
}

async function byRedocly(document: string): Promise<Finding[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source: document, absoluteRef: "openapi.json", config });
  return problems.map(({ ruleId, message, location: [place] }) => ({
    rule: ruleId,
    at: (place && "pointer" in place && place.pointer) || "",
    message,
  }));
}

async function bySpectral(document: string): Promise<Finding[]> {
  const linter = new spectral.Spectral();
  linter.setRuleset(new spectral.Ruleset(rulesets.oas));
  const problems = await linter.run(document);
  return problems.map(({ code, message, path }) => ({ rule: String(code), at: path.join("."), message }));
}

/** What breaks apps and is not explained, and explanations of what does not. */
async function byLastRelease(document: string): Promise<Finding[]> {
  const released = Surface.parse(JSON.parse(await readFile(releasedPath, "utf8")));
  const breaks = breaksBetween(released, surfaceOf(JSON.parse(document)));
  const known = explained.map(({ is }) => is);
  return [
    ...breaks
      .filter((is) => !known.includes(is))
      .map((is) => ({ rule: "breaks-apps", at: is, message: "Apps rely on it" })),
    ...known.filter((is) => !breaks.includes(is)).map((is) => ({ rule: "explained", at: is, message: "Is no break" })),
  ];
}

const document = JSON.stringify(openApiDocument(endpoints));
const findings = [...(await byRedocly(document)), ...(await bySpectral(document)), ...(await byLastRelease(document))];
const unexplained = findings.filter(
  ({ rule, at }) => !meant.some((known) => known.rules.includes(rule) && known.at.test(at)),
);
for (const { rule, at, message } of unexplained) process.stderr.write(`openapi.json ${at}\n  ${message} (${rule})\n`);
process.exit(unexplained.length > 0 ? 1 : 0);
