import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectral from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";

/** Findings that are meant, by the names of their rules, with the end of the places where they are. */
const meant: readonly { rules: readonly string[]; at: RegExp; why: string }[] = [
  {
    rules: ["no-unused-components", "oas3-unused-component"],
    at: /schemas.Problem$/,
    why: "any error of any endpoint, for clients that handle all in one place",
  },
  {
    rules: ["no-unused-components", "oas3-unused-component"],
    at: /headers.(Deprecation|Sunset)$/,
    why: "for operations that are deprecated; there may be none",
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

/** What a rule says of a place in the document. */
export interface Finding {
  rule: string;
  at: string;
  message: string;
}

const examples = {
  "no-invalid-media-type-examples": "error",
  "no-invalid-parameter-examples": "error",
  "no-invalid-schema-examples": "error",
} as const;

async function byRedocly(document: string): Promise<Finding[]> {
  const config = await createConfig({ extends: ["recommended"], rules: examples });
  const problems = await lintFromString({ source: document, absoluteRef: "openapi.json", config });
  return problems.map(({ ruleId, message, location: [place] }) => ({
    rule: ruleId,
    at: (place && "pointer" in place && place.pointer) || "",
    message,
  }));
}

async function bySpectral(document: string): Promise<Finding[]> {
  const linter = new spectral.Spectral();
  // Redocly checks examples too, in a twentieth of the time
  const rules = { "oas3-valid-media-example": "off", "oas3-valid-schema-example": "off" } as const;
  linter.setRuleset(new spectral.Ruleset({ extends: [rulesets.oas], rules }));
  const problems = await linter.run(document);
  return problems.map(({ code, message, path }) => ({ rule: String(code), at: path.join("."), message }));
}

/**
 * Checks an OpenAPI document by the recommended rules of Redocly and Spectral, with the libraries of their command line tools;
 * returns the findings that are not explained.
 */
export async function findingsOf(document: string): Promise<Finding[]> {
  const findings = [...(await byRedocly(document)), ...(await bySpectral(document))];
  return findings.filter(({ rule, at }) => !meant.some((known) => known.rules.includes(rule) && known.at.test(at)));
}
