import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import { z } from "zod";
import { app, endpoints } from "../../api/app.js";
import { closeWaitingResponses } from "../../api/http/connections.js";
import { refuseUnreadable } from "../../api/http/errors.js";
import { refuseEarly } from "../../api/http/overload.js";
import { messageClasses } from "../../api/http/message-classes.js";
import { responseHeaders } from "../../api/http/response-headers.js";
import { document } from "./openapi.js";

const addFormats = addFormatsModule.default;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a document whose objects have no other fields than it names: apps must bear new ones, tests must notice them. */
function strict(open: object): object {
  const text = JSON.stringify(open, (_key, part: unknown) =>
    isRecord(part) && isRecord(part["properties"]) ? { additionalProperties: false, ...part } : part,
  );
  return z.looseObject({}).parse(JSON.parse(text));
}

// the document itself is validated in test/api/http/openapi.test.ts
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
addFormats(ajv);
ajv.addSchema({ ...strict(document), $id: "openapi" });

const pointer = (...segments: string[]) =>
  segments.map((segment) => encodeURIComponent(segment.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");

const routes = endpoints.map((endpoint) => ({
  method: endpoint.method,
  path: endpoint.path.replace(/:(\w+)/g, "{$1}"),
  pattern: new RegExp(`^${endpoint.path.replace(/:\w+/g, "[^/]+")}/?$`),
}));

/** The place in the document of an operation's response: of its own, or shared with others. */
function placeOf(path: string, method: string, status: number): { response: unknown; at: string } {
  const response = document.paths[path]?.[method]?.responses[String(status)];
  if (!isRecord(response) || typeof response["$ref"] !== "string")
    return { response, at: pointer("paths", path, method, "responses", String(status)) };
  const name = response["$ref"].split("/").at(-1) ?? "";
  return { response: document.components.responses[name], at: pointer("components", "responses", name) };
}

/** Headers that a response may have only where the document says so. */
const promisedHeaders = Object.keys(responseHeaders);

/** Throws unless the OpenAPI document declares this answer: its status, content type, headers and body. */
function assertPromised(method: string, pathname: string, { status, headers }: Response, body: unknown): void {
  const contentType = headers.get("content-type") ?? "";
  const matching = routes.filter((route) => route.method === method && route.pattern.test(pathname));
  const route = matching.find(({ path }) => path === pathname) ?? matching[0];
  const where = `${method.toUpperCase()} ${pathname} → ${status}`;
  if (!route && status < 400) throw new Error(`${where}: this endpoint is not declared`);
  const { response, at } = route ? placeOf(route.path, method, status) : {};
  if (route && !isRecord(response)) throw new Error(`${where}: this status is not declared`);
  if (isRecord(response) && status < 400) {
    const declared = isRecord(response["headers"]) ? response["headers"] : {};
    const undeclared = promisedHeaders.filter((name) => headers.has(name) && !(name in declared));
    if (undeclared.length > 0) throw new Error(`${where}: the header ${undeclared.join(", ")} is not declared`);
  }
  if (typeof response === "object" && response !== null && !("content" in response)) {
    if (body !== undefined) throw new Error(`${where}: the body must be empty`);
    return;
  }
  const [type = ""] = contentType.split(";");
  if (type.startsWith("text/")) {
    if (!isRecord(response) || !isRecord(response["content"]) || !(type in response["content"]))
      throw new Error(`${where}: ${type} is not declared`);
    return;
  }
  const media = status >= 400 ? "application/problem+json" : "application/json";
  if (!contentType.startsWith(media)) throw new Error(`${where}: is ${contentType}, must be ${media}`);
  const schema =
    at !== undefined
      ? `openapi#/${at}/${pointer("content", media, "schema")}`
      : `openapi#/${pointer("components", "schemas", "Problem")}`;
  const validate = ajv.getSchema(schema) ?? ajv.compile({ $ref: schema });
  if (validate(body)) return;
  // a problem document breaks the schemas of all other reasons too
  const wrong = status < 400 ? ajv.errorsText(validate.errors) : "this reason is not declared, or has other facts";
  throw new Error(`${where}: ${wrong} in ${JSON.stringify(body)}`);
}

export interface Reply {
  status: number;
  headers: Headers;
  /** The body as an object; empty when it is not one. */
  body: Record<string, unknown>;
  /** The body as an array; empty when it is not one. */
  list: Record<string, unknown>[];
  text: string;
  /** A member of the body that must be a string, such as an id. */
  string(name: string): string;
}

/** A reply in short, as a test compares it: "200", "404 NOT_FOUND". */
export const outcome = ({ status, body }: Reply): string =>
  status < 400 ? String(status) : `${status} ${String(body["code"])}`;

type Options = { headers?: Record<string, string> };

/** What a stream begins with; closes it. */
async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return Buffer.from(first?.value ?? []).toString();
}

/** An HTTP client for one caller; it validates every answer against the OpenAPI document. */
export class Client {
  constructor(
    readonly url: string,
    public token: string | null = null,
  ) {}

  as(token: string | null): Client {
    return new Client(this.url, token);
  }

  get = (path: string, options?: Options) => this.send("get", path, undefined, options);
  delete = (path: string, options?: Options) => this.send("delete", path, undefined, options);
  post = (path: string, body?: unknown, options?: Options) => this.send("post", path, body, options);
  put = (path: string, body?: unknown, options?: Options) => this.send("put", path, body, options);
  patch = (path: string, body?: unknown, options?: Options) => this.send("patch", path, body, options);

  /** Sends `body` as JSON, or unchanged when it is a string, bytes or a form. */
  async send(method: string, path: string, body?: unknown, { headers = {} }: Options = {}): Promise<Reply> {
    const raw =
      typeof body === "string" || body instanceof Uint8Array || body instanceof FormData
        ? body
        : body === undefined
          ? undefined
          : JSON.stringify(body);
    const response = await fetch(this.url + path, {
      method: method.toUpperCase(),
      headers: {
        ...(raw !== undefined && !(raw instanceof FormData) && { "content-type": "application/json" }),
        ...(this.token !== null && { authorization: `Bearer ${this.token}` }),
        ...headers,
      },
      redirect: "manual",
      ...(raw !== undefined && { body: raw }),
    });
    const contentType = response.headers.get("content-type") ?? "";
    const text = await (contentType.startsWith("text/event-stream") ? beginningOf(response) : response.text());
    const parsed: unknown = contentType.includes("json") && text !== "" ? JSON.parse(text) : undefined;
    assertPromised(method, new URL(path, this.url).pathname, response, parsed);
    const record = isRecord(parsed) ? parsed : {};
    return {
      status: response.status,
      headers: response.headers,
      body: record,
      list: Array.isArray(parsed) ? parsed.filter(isRecord) : [],
      text,
      string: (name) => {
        const value = record[name];
        if (typeof value !== "string")
          throw new Error(`${method} ${path} → ${response.status} has no string ${name}: ${text}`);
        return value;
      },
    };
  }
}

/** Runs the API of this test file, on a free port unless it needs a certain one. */
export async function startApi(port = 0): Promise<{ client: Client; stop: () => Promise<void> }> {
  // a thousand concurrent requests all get a connection on any machine, and none is closed while a client may use it
  const patience = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };
  const server: Server = createServer({ ...messageClasses(app), ...patience }, refuseEarly(app))
    .on("clientError", refuseUnreadable)
    .listen({ port, host: "127.0.0.1", backlog: 4_096 });
  closeWaitingResponses(server);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the API has no port");
  return {
    client: new Client(`http://127.0.0.1:${address.port}`),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
