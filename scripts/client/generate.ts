import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateSource } from "oazapfts";

/** The operations and types of the client; `npm run client` writes them. */
export const operationsPath = "scripts/client/src/operations.ts";

const heading = `// Made by \`npm run client\` from the OpenAPI document. Do not edit.
// The generator does not know exactOptionalPropertyTypes; a test checks the types as apps see them, in the built package.
// @ts-nocheck
`;

const isFile = (value: unknown) =>
  typeof value === "object" && value !== null && "contentMediaType" in value && value.contentMediaType !== undefined;

/** A path whose answer does not end: `streams.ts` follows it. */
const isStream = (value: unknown) =>
  typeof value === "object" &&
  value !== null &&
  "get" in value &&
  JSON.stringify(value.get).includes('"text/event-stream"');

/** Writes the document as the generator understands it: files are Blobs, and constants tell the reasons of a union apart. */
const simplify = (document: object) =>
  JSON.stringify({ ...document, servers: [] }, (key, value: unknown) =>
    key === "discriminator" || isStream(value)
      ? undefined
      : isFile(value)
        ? { type: "string", format: "binary" }
        : value,
  );

/** An operation without parameters takes an empty object, so that calls stay right when it gets its first one. */
const withArguments = (source: string) =>
  source.replace(/^(export function \w+\()(?=opts\?)/gm, "$1none: Record<string, never> = {}, ");

/** Returns the source of a function for each operation of an OpenAPI document, named by its id, and of all its types. */
export async function generateOperations(document: object): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "surplus-food-client-"));
  try {
    const file = join(folder, "openapi.json");
    await writeFile(file, simplify(document));
    const source = await generateSource(file, {
      argumentStyle: "object",
      allSchemas: true,
      futureStripLegacyMethods: true,
      useUnknown: true,
    });
    return heading + withArguments(source.slice(source.indexOf("import ")));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
