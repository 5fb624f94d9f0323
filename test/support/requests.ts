import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { z } from "zod";
import { endpoints } from "../../api/app.js";
import type { Auth } from "../../api/http/auth.js";
import { document } from "./openapi.js";
import { arbitraryOf, JsonSchema, nastyText, serialize, type Making } from "./arbitraries.js";

const Operation = z.object({
  parameters: z.array(z.object({ in: z.string(), name: z.string(), schema: JsonSchema })).default([]),
  requestBody: z
    .object({ content: z.object({ "application/json": z.object({ schema: JsonSchema }).optional() }).loose() })
    .optional(),
});

const { paths, components } = z
  .object({
    paths: z.record(z.string(), z.record(z.string(), Operation)),
    components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
  })
  .parse(document);

// formats are annotations only; the patterns are what counts
const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** The part of the document that a reference names. */
export const resolve = (reference: string): JsonSchema =>
  JsonSchema.parse(components.schemas[reference.replace("#/components/schemas/", "")]);

/** An endpoint as the document describes it. */
export interface Target {
  name: string;
  method: string;
  auth: Auth;
  /** The error code for an invalid body. */
  invalid: string;
  /** With `{name}` for each parameter. */
  path: string;
  /** Those of its parameters that are no ids, with the values that they may have. */
  choices: ReadonlyMap<string, readonly string[]>;
  query: readonly { name: string; schema: JsonSchema }[];
  body: JsonSchema | null;
  /** Whether the body is read as the caller's own format, and not as JSON that the document describes. */
  takesRawBody: boolean;
  /** Whether it takes a file in a form. */
  takesForm: boolean;
  /** Whether the document's schema allows this body. */
  allows: (body: unknown) => boolean;
}

export const targets: readonly Target[] = endpoints.map(({ method, path: declared, auth, invalid, rawBody }) => {
  const path = declared.replace(/:(\w+)/g, "{$1}");
  const operation = paths[path]?.[method];
  if (!operation) throw new Error(`${method} ${path} is not in the document`);
  const body = operation.requestBody?.content["application/json"]?.schema ?? null;
  return {
    name: `${method.toUpperCase()} ${path}`,
    method,
    auth,
    invalid,
    path,
    choices: new Map(
      operation.parameters.flatMap((parameter) =>
        parameter.in === "path" && parameter.schema.enum ? [[parameter.name, parameter.schema.enum.map(String)]] : [],
      ),
    ),
    query: operation.parameters.filter((parameter) => parameter.in === "query"),
    body,
    takesRawBody: rawBody !== undefined,
    takesForm: operation.requestBody !== undefined && "multipart/form-data" in operation.requestBody.content,
    allows: body ? ajv.compile({ ...body, components }) : () => true,
  };
});

/** The path of an endpoint with these values for its parameters that are ids; the last value fills the rest. */
export const pathOf = ({ path, choices }: Target, values: readonly string[]) => {
  let n = 0;
  const valueOf = (name: string) => choices.get(name)?.[0] ?? values[Math.min(n++, values.length - 1)] ?? "";
  return path.replace(/\{(\w+)\}/g, (_all, name: string) => valueOf(name));
};

/** Node refuses headers over 16 kB in all. */
const longestQuery = 8_000;
const longestEncoded = 2_500;

const encode = (value: unknown) =>
  encodeURIComponent(
    (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed().slice(0, longestEncoded),
  );

/** Values of path parameters: ids, and texts that are not ids. */
const segmentOf = (ids: readonly string[]) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...ids) },
    { weight: 1, arbitrary: nastyText.map(encode) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "%",
        "%zz",
        "%00",
        "%ff%fe",
        "%ED%A0%80",
        "%2F",
        "..%2F..%2F",
        "a%20b",
        ";a=b",
        ":id",
        "*",
      ),
    },
  );

const strangeQuery = fc.constantFrom("", "", "__proto__=1", "__proto__[x]=1", "%", "a=%ff", "=&&=;", "q[]=1&q[a]=2");

function queryOf({ query }: Target, making: Making) {
  const known = query.map(({ name, schema }) =>
    fc
      .array(fc.oneof(arbitraryOf(schema, making), nastyText), { maxLength: 2 })
      .map((values) => values.map((value) => `${name}=${encode(value)}`).join("&")),
  );
  return fc.tuple(...known, strangeQuery).map((parts) => parts.filter(Boolean).join("&").slice(0, longestQuery));
}

const visible = fc.string({
  unit: fc.constantFrom(...('abz019 ,;:="<>{}()[]/\\?%&*!~é'.match(/./g) ?? [])),
  maxLength: 30,
});

const headersOf = ({ body }: Target): fc.Arbitrary<Record<string, string>> =>
  fc
    .record(
      {
        "x-request-id": visible,
        "idempotency-key": fc.oneof(visible, fc.constant("k".repeat(256))),
        "if-none-match": visible,
        accept: visible,
        "accept-encoding": visible,
        range: visible,
        "x-forwarded-for": visible,
        "x-http-method-override": fc.constant("DELETE"),
        ...(body && {
          "content-type": fc.oneof(fc.constant("application/json; charset=utf-16"), visible),
          "content-encoding": fc.oneof(fc.constantFrom("gzip", "deflate", "br"), visible),
        }),
      },
      { requiredKeys: [] },
    )
    .map((headers) => ({ ...headers }));

/** Forms with the boundary `x`, most of them broken. */
const form = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "--x\r\n",
        "--x--\r\n",
        "\r\n",
        "\r\n\r\n",
        "\n",
        'Content-Disposition: form-data; name="file"; filename="a.png"\r\n',
        'Content-Disposition: form-data; name="file"\r\n',
        'Content-Disposition: form-data; name="other"\r\n',
        "Content-Type: image/png\r\n",
        "Content-Type: application/pdf\r\n",
        "Content-Type: text/csv\r\n",
        "\u0089PNG\r\n\u001a\n",
        "%PDF-1.7\n",
        "name,category,price\r\n",
        `X: ${"y".repeat(9_000)}\r\n`,
      ),
      nastyText,
    ),
    { maxLength: 12 },
  )
  .map((pieces) => `--x\r\n${pieces.join("")}\r\n--x--\r\n`);

const formHeaders = { "content-type": "multipart/form-data; boundary=x" };

/** Requests to an endpoint, valid and invalid; `ids` are ids of existing rows. */
export function requestTo(target: Target, ids: readonly string[]) {
  const making: Making = { resolve, ids, hostile: true };
  const usual = target.takesForm ? formHeaders : {};
  const headers = fc.oneof(
    { weight: 3, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: headersOf(target).map((strange) => ({ ...usual, ...strange })) },
  );
  return fc.record({
    path: fc
      .tuple(fc.array(segmentOf(ids), { minLength: 1, maxLength: 2 }), queryOf(target, making))
      .map(([segments, query]) => `${pathOf(target, segments)}?${query}`),
    headers,
    body: target.takesForm
      ? form
      : target.body
        ? arbitraryOf(target.body, making).map(serialize)
        : fc.constant(undefined),
  });
}
