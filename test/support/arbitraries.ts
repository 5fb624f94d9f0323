import fc from "fast-check";
import { z } from "zod";

/** The part of JSON Schema that describes requests. */
export const JsonSchema = z.looseObject({
  $ref: z.string().optional(),
  type: z.enum(["string", "number", "integer", "boolean", "array", "object", "null"]).optional(),
  enum: z.array(z.unknown()).optional(),
  format: z.string().optional(),
  pattern: z.string().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  required: z.array(z.string()).optional(),
  get items() {
    return JsonSchema.optional();
  },
  get properties() {
    return z.record(z.string(), JsonSchema).optional();
  },
  get anyOf() {
    return z.array(JsonSchema).optional();
  },
});

export type JsonSchema = z.output<typeof JsonSchema>;

/** A string that `serialize` writes as these raw characters. */
const raw = (json: string) => `@raw:${json}`;

/** JSON with raw parts that no JavaScript value has, such as numbers out of range. */
export const serialize = (value: unknown): string => JSON.stringify(value).replace(/"@raw:([^"]*)"/g, "$1");

/** Texts that often break programs. */
export const nastyText = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "\u0000",
    "a\u0000b",
    "\ud800",
    "a\udfff",
    "\ufeff",
    "\u202e",
    "null",
    "undefined",
    "NaN",
    "Infinity",
    "1e400",
    "-0",
    "0x10",
    "true",
    "__proto__",
    "constructor",
    "' or 1=1; --",
    "{}",
    "%s%n",
    "${7*7}",
    "../../etc/passwd",
    "<script>",
    "9999-12-31T23:59:60Z",
    "2026-02-30T00:00:00Z",
    "00000000-0000-0000-0000-000000000000",
    "x".repeat(100_000),
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
);

const nastyValue = fc.oneof(
  nastyText,
  fc.constantFrom(null, true, false, -1, 0.001, 2 ** 31, 2 ** 53, -(2 ** 63), 1.7976931348623157e308, 5e-324),
  fc.constantFrom("-0", "1e400", "-1e400", "1E-400", "0.10000000000000000000000001", "9".repeat(400)).map(raw),
  fc.constantFrom("[", '{"":').map((open) => {
    const close = open === "[" ? "]" : "}";
    return open === "[" ? raw(open.repeat(20_000) + close.repeat(20_000)) : { "": { "": { "": {} } } };
  }),
  fc.constantFrom([], {}, [null], [[]], { length: 1 }, { toString: 1 }, { toJSON: null }),
  fc.jsonValue({ maxDepth: 2 }),
);

const nastyKey = fc.constantFrom(
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "then",
  "id",
  "status",
  "",
  "\u0000",
);

export interface Making {
  /** The schema that a reference names. */
  resolve: (reference: string) => JsonSchema;
  /** Ids of existing rows. */
  ids: readonly string[];
  /** Whether values may be replaced by hostile ones, and objects may have undeclared members. */
  hostile: boolean;
}

function text(
  { format, pattern, minLength = 0, maxLength = 1_000 }: JsonSchema,
  { ids }: Making,
): fc.Arbitrary<unknown> {
  if (format === "uuid") return fc.constantFrom(...ids);
  if (format === "date-time") {
    const day = 24 * 60 * 60 * 1_000;
    return fc.integer({ min: -day, max: 2 * day }).map((ms) => new Date(Date.now() + ms).toISOString());
  }
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  const some = fc.string({ unit: "grapheme", minLength, maxLength: Math.min(maxLength, minLength + 30) });
  return fc.oneof({ weight: 9, arbitrary: some }, { weight: 1, arbitrary: fc.constant("ж".repeat(maxLength)) });
}

function valueOf(schema: JsonSchema, making: Making): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valueOf(making.resolve(schema.$ref), making);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => arbitraryOf(one, making)));
  const { minimum = -1e9, maximum = 1e9 } = schema;
  switch (schema.type) {
    case "string":
      return text(schema, making);
    case "integer":
      return fc.integer({ min: Math.max(minimum, -(2 ** 31)), max: Math.min(maximum, 2 ** 31 - 1) });
    case "number":
      return fc.integer({ min: minimum * 100, max: maximum * 100 }).map((hundredths) => hundredths / 100);
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(arbitraryOf(schema.items ?? {}, making), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 5, 5),
      });
    case "object": {
      const { properties = {}, required = [] } = schema;
      const members = fc.record(
        Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, arbitraryOf(one, making)])),
        { requiredKeys: required },
      );
      if (!making.hostile) return members;
      const strangers = fc.array(fc.tuple(nastyKey, nastyValue), { maxLength: 2 });
      return fc
        .tuple(members, strangers)
        .map(([own, others]) => Object.fromEntries([...others, ...Object.entries(own)]));
    }
    case undefined:
      return fc.jsonValue();
  }
}

/** Values that satisfy a schema, and with `hostile` also values that almost do. */
export function arbitraryOf(schema: JsonSchema, making: Making): fc.Arbitrary<unknown> {
  const valid = valueOf(schema, making);
  if (!making.hostile) return valid;
  return fc.oneof({ weight: 9, arbitrary: valid }, { weight: 1, arbitrary: nastyValue });
}
