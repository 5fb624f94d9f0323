import { hash } from "node:crypto";
import type { RequestHandler } from "express";
import { z } from "zod";
import {
  createDocument,
  type CreateDocumentOptions,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from "zod-openapi";
import { eventTypes, ping, schemaNameOf, type EventType } from "../../lib/domain/event-types.js";
import { config } from "../../lib/process/config.js";
import { version } from "../../lib/process/version.js";
import { hasTag } from "./answer.js";
import { isOpen, keyScopes, type Auth } from "./auth.js";
import { readConventions } from "./conventions.js";
import type { Endpoint } from "./declaration.js";
import { addExamples } from "./examples.js";
import { worksByItself } from "./overload.js";
import { declaredRefusals, type Refusal } from "./refusal.js";
import {
  adminsOnly,
  bodyTooLarge,
  databaseContended,
  databaseOverloaded,
  databaseTooSlow,
  databaseUnreachable,
  internal,
  invalidInputOf,
  keyScopeMissing,
  keyUnknown,
  operatorsOnly,
  notFound,
  notJson,
  notSentAsJson,
  outOfRange,
  overloaded,
  partnerNotActive,
  partnersOnly,
  requestTooSlow,
  sessionEnded,
  tokenExpired,
  tokenInvalid,
  tokenMissing,
  tooManyRequests,
  unreadable,
} from "./refusals.js";
import { headersOf, isConditional, responseHeaders } from "./response-headers.js";
import { Id } from "./schemas.js";
import { tags } from "./tags.js";
import { uploadRefusals } from "./upload.js";

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
  OBSERVER:
    "For admins, for users who may look at the operators' console, and for service keys with the scope `ops:read`.",
  EVENT_READER:
    "For a partner's owner or staff, whatever the partner's status, for admins, and for service keys with the scope `events:read`.",
  WEBHOOK_WRITER:
    "For a partner's owner or staff, whatever the partner's status, for admins, and for service keys with the scope `webhooks:write`.",
};

const isForPartners = (auth: Auth) =>
  ["PARTNER", "ACTIVE_PARTNER", "PARTNER_OR_ADMIN", "EVENT_READER", "WEBHOOK_WRITER"].includes(auth);

/** The reasons for which an endpoint may refuse a request: those that its declaration implies, then those it names. */
export function refusalsOf(endpoint: Endpoint): Refusal[] {
  const { auth, body, query, headers, params, upload } = endpoint;
  const input = body ?? query ?? headers;
  const scope = auth in keyScopes;
  const implied: Refusal[] = [
    ...(body ? [notJson, notSentAsJson, bodyTooLarge] : []),
    ...(input || params ? [unreadable, outOfRange] : []),
    ...(body || upload ? [requestTooSlow] : []),
    ...(upload ? uploadRefusals : []),
    ...(input ? [invalidInputOf(endpoint.invalid)] : []),
    ...(auth === "ANYONE" ? [] : [tokenInvalid, tokenExpired, sessionEnded]),
    ...(isOpen(auth) ? [] : [tokenMissing]),
    ...(scope ? [keyUnknown, keyScopeMissing] : []),
    ...(auth === "ADMIN" || auth === "LOCATION_WRITER" ? [adminsOnly] : []),
    ...(auth === "OBSERVER" ? [operatorsOnly] : []),
    ...(isForPartners(auth) ? [partnersOnly] : []),
    ...(auth === "ACTIVE_PARTNER" ? [partnerNotActive] : []),
    ...(params ? [notFound] : []),
    ...(worksByItself(endpoint) ? [overloaded] : []),
  ];
  const always = [
    tooManyRequests,
    internal,
    databaseUnreachable,
    databaseOverloaded,
    databaseContended,
    databaseTooSlow,
  ];
  const all = [...implied, ...(endpoint.errors ?? []), ...always];
  return [...new Map(all.map((each) => [each.reason, each])).values()];
}

/** A problem document with one of these reasons. */
function problemOf(reasons: readonly Refusal[]): z.ZodType {
  const [first, second, ...more] = reasons.map(({ schema }) => schema);
  if (!first) throw new Error("a response needs a reason");
  return second ? z.discriminatedUnion("reason", [first, second, ...more]) : first;
}

/** Every problem document, for clients that handle all in one place. */
function anyProblem(all: readonly Refusal[]) {
  const mapping = Object.fromEntries(
    all.map(({ reason, schema }) => [reason, `#/components/schemas/${schema.meta()?.id ?? reason}`]),
  );
  return {
    description: "Any error, as application/problem+json; programs decide by `code`, and more exactly by `reason`.",
    oneOf: Object.values(mapping).map(($ref) => ({ $ref })),
    discriminator: { propertyName: "reason", mapping },
  };
}

/** A response with one of these reasons. */
function refusedWith(reasons: readonly Refusal[]): ZodOpenApiResponseObject {
  const schema = problemOf(reasons);
  const examples = reasons.map(({ reason }) => [reason, { $ref: `#/components/examples/${reason}` }] as const);
  return {
    description: [...new Set(reasons.map(({ code }) => code))].join(", "),
    content: { "application/problem+json": { schema, examples: Object.fromEntries(examples) } },
  };
}

/** Refusals that several endpoints have in common, by their reasons: most are the same. */
type SharedResponses = Map<string, ZodOpenApiResponseObject>;

function responses(endpoint: Endpoint, shared: SharedResponses): ZodOpenApiResponsesObject {
  const found: Record<string, ZodOpenApiResponseObject> = {};
  for (const [status, schema] of Object.entries(endpoint.answers)) {
    found[status] =
      schema === null
        ? {
            description: status === "302" ? "Redirect to `Location`." : "Done; the body is empty.",
            headers: headersOf(endpoint, Number(status)),
          }
        : {
            headers: headersOf(endpoint, Number(status)),
            description:
              status === "201"
                ? "Created."
                : status === "202"
                  ? (schema.description ?? "Not done yet; the result will be at `Location`.")
                  : "Done.",
            content: {
              [endpoint.mediaType ?? "application/json"]: { schema },
              ...(endpoint.csv && status === "200" && { "text/csv": { schema: { type: "string" } } }),
            },
          };
  }
  if (isConditional(endpoint))
    found["304"] = { description: "Unchanged; the body is empty.", headers: headersOf(endpoint, 304) };
  const refused = refusalsOf(endpoint);
  for (const status of new Set(refused.map((each) => each.status))) {
    const reasons = refused.filter((each) => each.status === status);
    const key = [...reasons.map(({ reason }) => reason), endpoint.deprecated && "deprecated"].join(" ");
    const known = shared.get(key) ?? {
      ...refusedWith(reasons),
      headers: headersOf(endpoint, status),
      id: `Refused${status}-${shared.size}`,
    };
    shared.set(key, known);
    found[String(status)] = known;
  }
  return found;
}

const file = { type: "string" as const, contentMediaType: "application/octet-stream" };

/** The body of an upload. */
const fileContent = ({ part, alone }: NonNullable<Endpoint["upload"]>) => ({
  "multipart/form-data": { schema: { type: "object" as const, required: [part], properties: { [part]: file } } },
  ...(alone !== undefined && { [alone]: { schema: file } }),
});

function operation(endpoint: Endpoint, shared: SharedResponses): ZodOpenApiOperationObject {
  const { params, query, headers } = endpoint;
  const description = [endpoint.description, callers[endpoint.auth]].filter(Boolean).join(" ");
  return {
    tags: [endpoint.tag],
    summary: endpoint.summary,
    operationId: endpoint.name,
    ...(description && { description }),
    ...(endpoint.deprecated && { deprecated: true }),
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
    ...(endpoint.rawBody && {
      requestBody: { required: true, content: { "application/json": { schema: endpoint.rawBody } } },
    }),
    ...(endpoint.upload && { requestBody: { required: true, content: fileContent(endpoint.upload) } }),
    responses: responses(endpoint, shared),
  };
}

/** Apps must bear new fields, so a response is not bound to those of this release: some generated clients refuse any other. */
const options: CreateDocumentOptions = {
  override: ({ jsonSchema, io }) => {
    if (io === "output" && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  },
};

const signed = z.object({
  "webhook-id": z.string().meta({ description: "the event's id, the same at every attempt" }),
  "webhook-timestamp": z.string().meta({ description: "of the attempt, in seconds since 1970" }),
  "webhook-signature": z
    .string()
    .meta({ description: "`v1,` and a signature; two of them while the secret is rotated" }),
});

/** The request that an endpoint gets for an event of one type. */
const webhookOf = ([name, { summary, version, ofPartner, data }]: readonly [string, EventType]) => ({
  post: {
    tags: ["Events"],
    summary: summary.replace(/\.$/, ""),
    operationId: `receive${schemaNameOf(name)}`,
    description: "Sent to webhook endpoints that want this type.",
    security: [],
    requestParams: { header: signed },
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: z
            .object({
              type: z.literal(name),
              timestamp: z.iso.datetime().meta({ example: "2026-06-01T15:00:00.000Z" }),
              version: z.literal(version),
              position: z.int().meta({ example: 2_078_200_000_000_042 }),
              partnerId: ofPartner ? Id : z.null(),
              data,
            })
            .meta({ id: `${schemaNameOf(name)}Webhook`, description: summary }),
        },
      },
    },
    responses: {
      "204": { description: "Any 2xx within 15 seconds: you have it." },
      "410": { description: "Send nothing any more; anything else that is no 2xx: send it again later." },
    },
  },
});

const inBraces = (path: string) => path.replace(/:(\w+)/g, "{$1}");

const paragraphs = (...texts: readonly (string | undefined)[]) => texts.filter(Boolean).join("\n\n");

/** Returns the OpenAPI 3.1 document of all declared endpoints. */
export function openApiDocument(endpoints: readonly Endpoint[]) {
  const paths: ZodOpenApiPathsObject = {};
  const reasons = new Set(endpoints.flatMap((endpoint) => refusalsOf(endpoint).map(({ reason }) => reason)));
  const refusals = declaredRefusals();
  const answered = refusals.filter(({ reason }) => reasons.has(reason));
  const shared: SharedResponses = new Map();
  const conventions = readConventions();
  for (const endpoint of endpoints) {
    const path = inBraces(endpoint.path);
    paths[path] = { ...paths[path], [endpoint.method]: operation(endpoint, shared) };
  }
  const described: ZodOpenApiObject = {
    openapi: "3.1.0",
    info: {
      title: "Surplus-food marketplace",
      version,
      description: paragraphs(
        `Partners list discounted boxes of surplus food, customers order and pick them up. Amounts are in ${config.CURRENCY}.`,
        conventions.get("Every request"),
      ),
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: config.PUBLIC_URL }],
    tags: tags.map(({ name, description }) => ({ name, description: paragraphs(description, conventions.get(name)) })),
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
      // those of addresses beside the endpoints, which the document does not describe
      schemas: Object.fromEntries(
        refusals.filter((each) => !answered.includes(each)).map(({ schema }) => [schema.meta()?.id ?? "", schema]),
      ),
      examples: Object.fromEntries(answered.map(({ reason, example }) => [reason, { value: example }])),
    },
    paths,
    webhooks: Object.fromEntries([...eventTypes, ["ping", ping] as const].map((type) => [type[0], webhookOf(type)])),
  };
  const document = createDocument(described, options);
  for (const { path, method, tag } of endpoints) addExamples(document.paths?.[inBraces(path)]?.[method], tag);
  const schemas = { ...document.components?.schemas, Problem: anyProblem(refusals) };
  document.components = { ...document.components, schemas, headers: responseHeaders };
  for (const [name, schema] of Object.entries(schemas)) addExamples(schema, name);
  return document;
}

/** Answers with the document. It is made on the first request and kept: it has half a megabyte, and few processes are asked. */
export function sendOpenApi(endpoints: readonly Endpoint[]): RequestHandler {
  let made: { body: Buffer; tag: string } | undefined;
  const make = () => {
    const body = Buffer.from(JSON.stringify(openApiDocument(endpoints)));
    return { body, tag: `"${hash("sha1", body, "base64url")}"` };
  };
  return (request, response) => {
    const { body, tag } = (made ??= make());
    response.set("ETag", tag);
    if (hasTag(request, tag)) response.status(304).end();
    else response.type("json").send(body);
  };
}
