import { z } from "zod";

// What apps rely on, taken from an OpenAPI document: each place of requests and answers, with what may stand there. Descriptions,
// examples and the places' order are left out, so that two documents compare.

/** The surface of the last release; `npm run surface` writes it. */
export const releasedPath = "scripts/lint/released.json";

/** What may stand at one place. */
const Place = z.object({
  /** Types, constants as JSON, and names of schemas. */
  kinds: z.array(z.string()),
  /** Whether it must be sent, or is always there. */
  always: z.boolean(),
  /** Bounds on what may be sent, such as `maxLength`. */
  bounds: z.record(z.string(), z.union([z.number(), z.string()])).optional(),
});
export type Place = z.output<typeof Place>;

/** Places by their names, such as `placeOrder.body.items[].qty`. */
const Places = z.record(z.string(), Place);
export const Surface = z.object({ takes: Places, gives: Places });
export type Surface = z.output<typeof Surface>;

type Direction = keyof Surface;

interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  required?: string[];
  items?: Schema;
  [keyword: string]: unknown;
}

const schema: z.ZodType<Schema> = z.looseObject({});
const Media = z.record(z.string(), z.object({ schema }));
const Response = z.object({ $ref: z.string().optional(), content: Media.optional() });
const Operation = z.object({
  operationId: z.string(),
  security: z.array(z.record(z.string(), z.unknown())),
  parameters: z
    .array(z.object({ in: z.string(), name: z.string(), required: z.boolean().optional(), schema }))
    .default([]),
  requestBody: z.object({ required: z.boolean(), content: Media }).optional(),
  responses: z.record(z.string(), Response),
});
const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), schema) }),
});

const bounds = ["minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems", "pattern"];
const nameOf = ($ref: string) => $ref.split("/").at(-1) ?? "";
const alternatives = ({ anyOf = [], oneOf = [] }: Schema) => [...anyOf, ...oneOf];

function kindsOf(part: Schema): string[] {
  if (part.$ref !== undefined) return [nameOf(part.$ref)];
  const several = alternatives(part);
  if (several.length > 0) return several.flatMap(kindsOf);
  if ("const" in part) return [JSON.stringify(part.const)];
  if (part.enum) return part.enum.map((value) => JSON.stringify(value));
  return [part.format ?? part.type ?? "any"].flat();
}

const boundsOf = (part: Schema) =>
  bounds.flatMap((name) => {
    // a format has its pattern
    if (name === "pattern" && part.format !== undefined) return [];
    const value = part[name];
    return typeof value === "number" || typeof value === "string" ? [[name, value] as const] : [];
  });

/** Collects the surface of a document, place by place. */
class Collector {
  readonly surface: Surface = { takes: {}, gives: {} };
  readonly #seen = new Set<string>();

  constructor(readonly schemas: Readonly<Record<string, Schema>>) {}

  /** Adds a place and all within it. A place that comes several times, in several forms, has all their kinds. */
  add(direction: Direction, place: string, part: Schema, always: boolean): void {
    const found = direction === "takes" ? boundsOf(part) : [];
    const known = this.surface[direction][place];
    this.surface[direction][place] = {
      kinds: [...new Set([...(known?.kinds ?? []), ...kindsOf(part)])].sort(),
      always: always && (known?.always ?? true),
      ...(found.length > 0 && { bounds: Object.fromEntries(found) }),
    };
    this.addMembers(direction, place, part);
  }

  /** Adds what is within a place; a schema with a name is a place of its own, in each direction. */
  addMembers(direction: Direction, place: string, part: Schema, isOneOfSeveral = false): void {
    if (part.$ref !== undefined) {
      const name = nameOf(part.$ref);
      if (this.#seen.has(`${direction} ${name}`)) return;
      this.#seen.add(`${direction} ${name}`);
      this.addMembers(direction, name, this.schemas[name] ?? {});
    }
    const forms = alternatives(part).filter(({ type }) => type !== "null");
    for (const form of forms) this.addMembers(direction, place, form, forms.length > 1);
    for (const [name, member] of Object.entries(part.properties ?? {}))
      this.add(direction, `${place}.${name}`, member, !isOneOfSeveral && part.required?.includes(name) === true);
    if (part.items) this.add(direction, `${place}[]`, part.items, false);
    if (typeof part.additionalProperties === "object")
      this.add(direction, `${place}.*`, part.additionalProperties, false);
  }

  addOperation(address: string, operation: z.output<typeof Operation>): void {
    const { operationId: name, security, parameters, requestBody, responses } = operation;
    this.surface.gives[name] = { kinds: [address], always: true };
    if (!security.every((way) => "bearer" in way)) this.add("takes", `${name} without a token`, {}, false);
    for (const { in: where, name: parameter, required = false, schema: part } of parameters)
      this.add("takes", `${name}.${where}.${parameter}`, part, required);
    for (const [media, { schema: part }] of Object.entries(requestBody?.content ?? {}))
      this.add("takes", `${name}.body${suffix(media)}`, part, requestBody?.required === true && isJson(media));
    for (const [status, { content }] of Object.entries(responses).filter(([status]) => Number(status) < 400))
      for (const [media, { schema: part }] of Object.entries(content ?? { "application/json": { schema: nothing } }))
        this.add("gives", `${name} ${status}${suffix(media)}`, part, true);
  }
}

const nothing: Schema = { type: "nothing" };
const isJson = (media: string) => media === "application/json";
const suffix = (media: string) => (isJson(media) ? "" : ` as ${media}`);

/** Returns the surface of an OpenAPI document. */
export function surfaceOf(document: unknown): Surface {
  const { paths, components } = Document.parse(document);
  const collector = new Collector(components.schemas);
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations))
      collector.addOperation(`${method.toUpperCase()} ${path}`, operation);
  // which reasons an operation has may change; what a reason means and tells may not
  for (const [name, part] of Object.entries(components.schemas))
    if (name.endsWith("Problem") && part.properties) collector.addMembers("gives", name, { $ref: name });
  return collector.surface;
}
