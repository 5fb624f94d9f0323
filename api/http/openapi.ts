import { hash } from "node:crypto";
import type { RequestHandler } from "express";
import { z } from "zod";
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from "zod-openapi";
import { config } from "../../lib/process/config.js";
import { version } from "../../lib/process/version.js";
import { keyScopes, type Auth } from "./auth.js";
import type { Endpoint } from "./endpoint.js";
import { Problem } from "./errors.js";
import { addExamples } from "./examples.js";
import { tags } from "./tags.js";

const callers: Record<Auth, string | null> = {
  ANYONE: null,
  OPTIONAL_USER: "A credential is optional; one that is sent must be valid.",
  USER: "For signed-in users.",
  PARTNER: "For a partner's owner or staff, whatever the partner's status.",
  ACTIVE_PARTNER: "For the owner or staff of an ACTIVE partner.",
  ADMIN: "For admins.",
  PARTNER_OR_ADMIN: "For a partner's owner or staff, whatever the partner's status, and for admins.",
  BANNER_READER:
    "A credential is optional; one that is sent must be valid: a user's token, or a service key with the scope `ads:read`.",
  LOCATION_WRITER: "For admins, and for service keys with the scope `geo:write`.",
};

/** An endpoint's errors: those that its declaration implies, then those it names. */
function errorsOf(endpoint: Endpoint): Map<number, Set<string>> {
  const found = new Map<number, Set<string>>();
  const add = (status: number, code: string) => found.set(status, (found.get(status) ?? new Set()).add(code));
  if (endpoint.body ?? endpoint.params) add(400, "BAD_REQUEST");
  if (endpoint.body ?? endpoint.upload) {
    add(408, "BAD_REQUEST");
    add(413, "PAYLOAD_TOO_LARGE");
  }
  if (endpoint.body ?? endpoint.query ?? endpoint.headers) add(400, endpoint.invalid);
  if (endpoint.auth !== "ANYONE") add(401, "UNAUTHORIZED");
  if (["PARTNER", "ACTIVE_PARTNER", "ADMIN", "PARTNER_OR_ADMIN"].includes(endpoint.auth) || endpoint.auth in keyScopes)
    add(403, "FORBIDDEN");
  if (endpoint.params) add(404, "NOT_FOUND");
  for (const refusal of endpoint.errors ?? []) {
    const [status = "500", code = "INTERNAL"] = refusal.split(" ");
    add(Number(status), code);
  }
  add(429, "RATE_LIMIT");
  add(503, "UNAVAILABLE");
  return found;
}

function responses(endpoint: Endpoint): ZodOpenApiResponsesObject {
  const found: Record<string, ZodOpenApiResponseObject> = {};
  for (const [status, schema] of Object.entries(endpoint.answers)) {
    found[status] =
      schema === null
        ? { description: status === "302" ? "Redirect to `Location`." : "Done; the body is empty." }
        : {
            description:
              status === "201"
                ? "Created."
                : status === "202"
                  ? (schema.description ?? "Not done yet; the result will be at `Location`.")
                  : "Done.",
            content: {
              "application/json": { schema },
              ...(endpoint.csv && status === "200" && { "text/csv": { schema: { type: "string" } } }),
            },
          };
  }
  for (const [status, codes] of errorsOf(endpoint)) {
    const content = { "application/problem+json": { schema: Problem } };
    found[String(status)] = { description: [...codes].join(", "), content };
  }
  return found;
}

const file = { type: "string" as const, contentMediaType: "application/octet-stream" };

/** The body of an upload. */
const fileContent = ({ part, alone }: NonNullable<Endpoint["upload"]>) => ({
  "multipart/form-data": { schema: { type: "object" as const, required: [part], properties: { [part]: file } } },
  ...(alone !== undefined && { [alone]: { schema: file } }),
});

function operation(endpoint: Endpoint): ZodOpenApiOperationObject {
  const { params, query, headers } = endpoint;
  const description = [endpoint.description, callers[endpoint.auth]].filter(Boolean).join(" ");
  return {
    tags: [endpoint.tag],
    summary: endpoint.summary,
    operationId: [endpoint.method, ...endpoint.path.split("/").slice(3)]
      .map((part) => part.replace(/\W/g, ""))
      .join("_"),
    ...(description && { description }),
    security:
      endpoint.auth === "ANYONE"
        ? []
        : ["OPTIONAL_USER", "BANNER_READER"].includes(endpoint.auth)
          ? [{}, { bearer: [] }]
          : [{ bearer: [] }],
    requestParams: {
      ...(params instanceof z.ZodObject && { path: params }),
      ...(query instanceof z.ZodObject && { query }),
      ...(headers instanceof z.ZodObject && { header: headers }),
    },
    ...(endpoint.body && {
      requestBody: {
        required: !endpoint.body.safeParse({}).success,
        content: { "application/json": { schema: endpoint.body } },
      },
    }),
    ...(endpoint.upload && { requestBody: { required: true, content: fileContent(endpoint.upload) } }),
    responses: responses(endpoint),
  };
}

const inBraces = (path: string) => path.replace(/:(\w+)/g, "{$1}");

/** Returns the OpenAPI 3.1 document of all declared endpoints. */
export function openApiDocument(endpoints: readonly Endpoint[]) {
  const paths: ZodOpenApiPathsObject = {};
  for (const endpoint of endpoints) {
    const path = inBraces(endpoint.path);
    paths[path] = { ...paths[path], [endpoint.method]: operation(endpoint) };
  }
  const document = createDocument({
    openapi: "3.1.0",
    info: {
      title: "Surplus-food marketplace",
      version,
      description:
        "Partners list discounted boxes of surplus food, customers order and pick them up. Amounts are in major units of " +
        `${config.CURRENCY}, with at most two decimals; ` +
        "times are ISO 8601. Errors are problem documents (RFC 9457) with a `code`.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: config.PUBLIC_URL }],
    tags: tags.map((tag) => ({ ...tag })),
    components: { securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } } },
    paths,
  });
  for (const { path, method, tag } of endpoints) addExamples(document.paths?.[inBraces(path)]?.[method], tag);
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) addExamples(schema, name);
  return document;
}

/** Answers with the document. It is made on the first request and kept: it has half a megabyte, and few processes are asked. */
export function sendOpenApi(endpoints: readonly Endpoint[]): RequestHandler {
  let made: { body: Buffer; tag: string } | undefined;
  const make = () => {
    const body = Buffer.from(JSON.stringify(openApiDocument(endpoints)));
    return { body, tag: `"${hash("sha1", body, "base64url")}"` };
  };
  return (_request, response) => {
    const { body, tag } = (made ??= make());
    response.set("ETag", tag).type("json").send(body);
  };
}
