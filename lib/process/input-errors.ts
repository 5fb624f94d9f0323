import type { z } from "zod";

const types: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
};

const formats: Readonly<Record<string, string>> = {
  uuid: "a UUID",
  email: "an e-mail address",
  url: "an address such as https://example.com",
  date: "a date such as 2026-06-01",
  datetime: "ISO 8601, such as 2026-06-01T18:00:00Z",
};

/** The unit of a bound, singular and plural. */
const units: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ["character", "characters"],
  array: ["entry", "entries"],
};

type Issue = Parameters<z.core.$ZodErrorMap>[0];
type Bound = Extract<Issue, { code: "too_small" | "too_big" }>;

function bound({ origin, inclusive, ...issue }: Bound): string {
  const [limit, least, beyond] =
    issue.code === "too_small" ? [issue.minimum, "at least", "above"] : [issue.maximum, "at most", "below"];
  const [one, many] = units[origin] ?? [];
  if (many === undefined) return `must be ${inclusive === false ? beyond : least} ${limit}`;
  if (issue.code === "too_small" && limit === 1) return "must not be empty";
  return `must have ${least} ${limit} ${limit === 1 ? one : many}`;
}

/** Describes what is wrong with a field, never its value; for schemas without a message of their own. */
export const describeIssue: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${types[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return issue.input === undefined ? "is missing" : `must be one of ${issue.values.join(", ")}`;
    case "too_small":
    case "too_big":
      return bound(issue);
    case "invalid_format":
      return `must be ${formats[issue.format] ?? "of another form"}`;
    case "invalid_union":
      return issue.input === undefined ? "is missing" : "must be of another form";
    default:
      return undefined;
  }
};
