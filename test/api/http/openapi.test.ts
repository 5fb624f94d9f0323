import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { Ajv2020 } from "ajv/dist/2020.js";
import { endpoints } from "../../../api/app.js";
import { readConventions } from "../../../api/http/conventions.js";
import { openApiDocument, refusalsOf } from "../../../api/http/openapi.js";
import { declaredRefusals } from "../../../api/http/refusal.js";
import { eventTypes } from "../../../lib/domain/event-types.js";
import { notificationKinds } from "../../../lib/domain/notification-kinds.js";
import { version } from "../../../lib/process/version.js";
import { closeDatabase } from "../../../sql/db.js";
import { startApi, type Client } from "../../support/api.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const document = openApiDocument(endpoints);
const methods = ["get", "post", "put", "patch", "delete"] as const;
const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  methods.flatMap((method) => {
    const operation = item[method];
    return operation ? [{ name: `${method.toUpperCase()} ${path}`, path, method, operation }] : [];
  }),
);

test("the served document is valid OpenAPI 3.1", async () => {
  const response = await fetch(`${client.url}/api/v1/openapi.json`);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
  const served = z.record(z.string(), z.unknown()).parse(await response.json());
  expect(served).toEqual(JSON.parse(JSON.stringify(document)));
  const validator = new Validator();
  expect(await validator.validate(served)).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
  expect(document.info.version).toBe(version);
});

test("the served document has a tag, so that a client that has it gets 304", async () => {
  const address = `${client.url}/api/v1/openapi.json`;
  const tag = (await fetch(address)).headers.get("etag") ?? "";
  const headers = { "if-none-match": tag };
  expect((await fetch(address, { headers })).status).toBe(304);
});

test("a response may have more fields than are described, as a later release may add some", () => {
  expect(JSON.stringify([document.components?.schemas, document.paths])).not.toContain('"additionalProperties":false');
});

test("the document contains every declared endpoint, and nothing else", () => {
  expect(operations.map(({ name }) => name).sort()).toEqual(
    endpoints.map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/:(\w+)/g, "{$1}")}`).sort(),
  );
});

test("operation ids are unique words", () => {
  const ids = operations.map(({ operation }) => operation.operationId ?? "");
  expect(ids.filter((id) => !/^[a-z]\w+$/i.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});

/** The example that documentation pages compose from a schema's own examples. */
function exampleOf(schema: unknown): unknown {
  const { type, example, enum: names, default: fallback, anyOf, properties, items, $ref } = Schema.parse(schema);
  if ($ref !== undefined) return exampleOf(document.components?.schemas?.[$ref.split("/").at(-1) ?? ""]);
  const given = [example, fallback, names?.[0]].find((value) => value !== undefined);
  if (given !== undefined) return given;
  if (anyOf) return exampleOf(anyOf[0]);
  if (properties)
    return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, exampleOf(property)]));
  return type === "boolean" ? true : items === undefined ? undefined : [exampleOf(items)];
}

const Schema = z.looseObject({
  type: z.unknown().optional(),
  example: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  $ref: z.string().optional(),
});

test.each(endpoints.flatMap((endpoint) => (endpoint.body ? [endpoint] : [])))(
  "the example of $method $path satisfies its schema",
  ({ method, path, body }) => {
    const operation = document.paths?.[path.replace(/:(\w+)/g, "{$1}")]?.[method];
    const described = z
      .looseObject({ content: z.object({ "application/json": z.object({ schema: z.unknown() }) }) })
      .parse(operation?.requestBody);
    const parsed = body?.safeParse(exampleOf(described.content["application/json"].schema));
    expect(parsed?.error?.issues ?? []).toEqual([]);
  },
);

test("the example of an order has a menu item and a box, each with its own id", () => {
  const operation = document.paths?.["/api/v1/orders"]?.post;
  const described = z
    .looseObject({ content: z.object({ "application/json": z.object({ schema: z.unknown() }) }) })
    .parse(operation?.requestBody);
  const { items, partnerId } = z
    .object({ items: z.array(z.record(z.string(), z.unknown())), partnerId: z.string() })
    .parse(exampleOf(described.content["application/json"].schema));
  const ids = items.map(({ menuItemId, boxId }) => menuItemId ?? boxId);
  expect(items.map((item) => Object.keys(item))).toEqual([
    ["menuItemId", "qty"],
    ["boxId", "qty"],
  ]);
  expect(new Set([...ids, partnerId]).size).toBe(3);
});

test("kinds of notifications are listed and explained; an app must expect others", () => {
  const { NotificationKind, Notification } = document.components?.schemas ?? {};
  const { enum: kinds, description } = z
    .looseObject({ enum: z.array(z.string()), description: z.string() })
    .parse(NotificationKind);
  expect(kinds).toEqual(Object.keys(notificationKinds));
  for (const kind of kinds)
    expect(description).toMatch(new RegExp(`^- \`${kind}\`, to \\w+: \\*\\*\\S.*\\*\\* \\S`, "m"));
  expect(Notification).toMatchObject({
    properties: { kind: { anyOf: [{ $ref: "#/components/schemas/NotificationKind" }, { type: "string" }] } },
  });
});

test("each type of the event log is a webhook, with the schema of what is sent", () => {
  expect(Object.keys(document.webhooks ?? {})).toEqual([...eventTypes.keys(), "ping"]);
  expect(document.components?.schemas?.["OrderPlacedWebhook"]).toMatchObject({
    properties: { type: { const: "order.placed" }, data: { properties: { orderId: { format: "uuid" } } } },
  });
});

test("the sections are in a fixed order, described, and not empty", () => {
  const shown = (document.tags ?? []).map(({ name }) => name);
  expect(shown.slice(0, 3)).toEqual(["Authentication", "Users", "Partners"]);
  expect(shown.filter((name) => !endpoints.some(({ tag }) => tag === name))).toEqual([]);
  expect((document.tags ?? []).filter(({ description = "" }) => !description.endsWith("."))).toEqual([]);
});

test("the conventions are in the document, each at its section", () => {
  const conventions = readConventions();
  const sections = (document.tags ?? []).map(({ name }) => name);
  expect([...conventions.keys()].filter((name) => !sections.includes(name))).toEqual(["Every request"]);
  for (const [name, text] of conventions) {
    expect(text).toMatch(/^- \*\*/);
    const place = name === "Every request" ? document.info : document.tags?.find((tag) => tag.name === name);
    const description = place?.description;
    expect(description).toMatch(/^\S.*\.\n\n- \*\*/);
    expect(description).toContain(text);
  }
});

describe.each(operations)("$name", ({ path, operation }) => {
  const statuses = Object.keys(operation.responses ?? {});

  test("has one tag and a summary of one line", () => {
    expect(operation.summary).toMatch(/^[A-Z].{5,}[^.]$/);
    expect(operation.tags).toHaveLength(1);
  });

  test("documents a success, and every refusal as a problem document with its codes", () => {
    expect(statuses.some((status) => /^[23]/.test(status))).toBe(true);
    const refusals = Object.entries(operation.responses ?? {}).filter(([status]) => Number(status) >= 400);
    expect(refusals.length).toBeGreaterThan(1);
    for (const [, { $ref }] of refusals) {
      expect(document.components?.responses?.[String($ref).split("/").at(-1) ?? ""]).toMatchObject({
        description: expect.stringMatching(/^[A-Z_]+(, [A-Z_]+)*$/),
        content: { "application/problem+json": { schema: expect.anything(), examples: expect.anything() } },
      });
    }
  });

  test("describes each path parameter", () => {
    const described = (operation.parameters ?? []).flatMap((parameter) =>
      "in" in parameter && parameter.in === "path" ? [parameter.name] : [],
    );
    expect(described.sort()).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort());
  });

  test("declares its security where it needs a token", () => {
    const [first] = operation.security ?? [];
    const tokenless = first === undefined || Object.keys(first).length === 0;
    expect(tokenless || statuses.includes("401")).toBe(true);
  });
});

const schemas = new Ajv2020({ strict: false, validateFormats: false }).addSchema({ ...document, $id: "openapi" });

test("the examples of a problem's fields are its own", () => {
  const details = declaredRefusals().map(({ schema, example }) => {
    const described = document.components?.schemas?.[schema.meta()?.id ?? ""];
    return [Schema.parse(Schema.parse(described).properties?.["detail"]).example, example["detail"]];
  });
  for (const [shown, own] of details) expect(shown).toBe(own);
});

test("a webhook is described with a body and the headers of its signature", () => {
  const { requestBody, parameters } = z
    .object({
      requestBody: z.object({ required: z.boolean() }),
      parameters: z.array(z.object({ in: z.string(), name: z.string(), required: z.boolean().default(false) })),
    })
    .parse(document.paths?.["/api/v1/pos/webhooks/{provider}"]?.post);
  expect(requestBody.required).toBe(true);
  expect(parameters.filter((each) => each.in === "header")).toEqual(
    ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => ({ in: "header", name, required: false })),
  );
});

test("only an activation is refused as the campaign has ended", () => {
  const answering = endpoints.filter((endpoint) =>
    refusalsOf(endpoint).some(({ reason }) => reason === "CAMPAIGN_ENDED"),
  );
  expect(answering.map(({ name }) => name)).toEqual(["activateCampaign"]);
});

test.each(declaredRefusals())("the example of $reason satisfies its schema", ({ schema, example }) => {
  const validate = schemas.getSchema(`openapi#/components/schemas/${schema.meta()?.id ?? ""}`);
  expect(validate?.(JSON.parse(JSON.stringify(example)))).toBe(true);
});
