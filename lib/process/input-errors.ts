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
type Union = Extract<Issue, { code: "invalid_union" }>;

function bound({ origin, inclusive, ...issue }: Bound): string {
  const [limit, least, beyond] =
    issue.code === "too_small" ? [issue.minimum, "at least", "above"] : [issue.maximum, "at most", "below"];
  const [one, many] = units[origin] ?? [];
  if (many === undefined) return `must be ${inclusive === false ? beyond : least} ${limit}`;
  if (issue.code === "too_small" && limit === 1) return "must not be empty";
  return `must have ${least} ${limit} ${limit === 1 ? one : many}`;
}

const isRecord = (value: unknown): value is object => typeof value === "object" && value !== null;

const both = new Intl.ListFormat("en-GB", { type: "conjunction" });
const either = new Intl.ListFormat("en-GB", { type: "disjunction" });

/** Names what an object lacks in each of its forms, or what is wrong with it in the one form that it has all fields of. */
function union({ input, errors }: Union): string {
  if (input === undefined) return "is missing";
  const forms = errors.map((issues) => ({
    issues,
    lacks: issues.flatMap(({ path: [name, ...rest] }) =>
      isRecord(input) && typeof name === "string" && rest.length === 0 && !Object.hasOwn(input, name) ? [name] : [],
    ),
  }));
  const complete = forms.filter(({ lacks }) => lacks.length === 0).map(({ issues }) => issues[0]);
  const wrong = new Set(complete.map((issue) => issue && [issue.path.join("."), issue.message].join(" ").trim()));
  if (wrong.size > 0 || forms.length === 0) return (wrong.size === 1 && [...wrong][0]) || "must be of another form";
  const shared = forms[0]?.lacks.filter((name) => forms.every(({ lacks }) => lacks.includes(name))) ?? [];
  const own = forms.map(({ lacks }) => both.format(lacks.filter((name) => !shared.includes(name)))).filter(Boolean);
  return `needs ${[either.format(own), both.format(shared)].filter(Boolean).join(", and ")}`;
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
      return union(issue);
    default:
      return undefined;
  }
};

/**
 * Parses a value; what is wrong with it is described, but only once something is: a schema that is not compiled takes seven times as
 * long with descriptions.
 */
export function parseDescribed<T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> {
  const read = schema.safeParse(value);
  return read.success ? read : schema.safeParse(value, { error: describeIssue });
}
