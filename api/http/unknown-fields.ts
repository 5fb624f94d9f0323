import type { ServerResponse } from "node:http";
import { z } from "zod";

// Development only: unknown fields of bodies and queries are ignored, so a misspelt optional one would have no effect and no error.

/** Bounds on the header: how many fields it names, and how many characters of each name. */
const MOST_FIELDS = 10;
const LONGEST_NAME = 32;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Returns the objects and lists that a schema accepts, without what is wrapped around them. */
function formsOf(schema: unknown): unknown[] {
  if (schema instanceof z.ZodPipe) return formsOf(schema.in);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(formsOf);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return formsOf(schema.unwrap());
  return [schema];
}

/** How many characters are to be replaced, added, removed or swapped with their neighbour to turn one text into the other. */
function distance(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const [same, swapped] = [one[i - 1] === other[j - 1], one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]];
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (same ? 0 : 1),
        swapped && i > 1 ? (before[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    [before, row] = [row, next];
  }
  return row[other.length] ?? 0;
}

/** Returns the known name that was probably meant: the same but for its case and separators, or with few other characters. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[_-]/g, "");
  const [best] = known
    .map((candidate) => ({ candidate, far: distance(plain(name), plain(candidate)) }))
    .filter(({ candidate, far }) => far <= Math.ceil(candidate.length / 3))
    .sort((a, b) => a.far - b.far);
  return best?.candidate;
}

/** A name as a header may have it: short, and percent-encoded where it is not made of letters, digits and the like. */
const inHeader = (name: string): string => encodeURIComponent(name.slice(0, LONGEST_NAME).toWellFormed());

/** Yields the fields of a value that none of these schemas knows, by their path, with the known name that is nearest. */
function* unknownFields(schemas: readonly unknown[], value: unknown, path: readonly string[]): Generator<string> {
  const forms = schemas.flatMap(formsOf);
  if (Array.isArray(value)) {
    const elements = forms.flatMap((form) => (form instanceof z.ZodArray ? [form.element] : []));
    for (const [index, entry] of value.entries()) yield* unknownFields(elements, entry, [...path, String(index)]);
    return;
  }
  const objects = forms.filter((form) => form instanceof z.ZodObject);
  if (!isRecord(value) || objects.length === 0 || objects.some(({ def }) => def.catchall !== undefined)) return;
  const known = [...new Set(objects.flatMap(({ shape }) => Object.keys(shape)))];
  for (const [name, field] of Object.entries(value)) {
    const place = [...path, inHeader(name)];
    if (known.includes(name)) {
      const schemasOfField = objects.flatMap(({ shape }): unknown[] =>
        Object.hasOwn(shape, name) ? [shape[name]] : [],
      );
      yield* unknownFields(schemasOfField, field, place);
    } else {
      const meant = nearest(
        name.slice(0, LONGEST_NAME),
        known.filter((each) => !Object.hasOwn(value, each)),
      );
      yield [place.join("."), ...(meant === undefined ? [] : [meant])].join(" -> ");
    }
  }
}

/**
 * Adds the fields that a schema ignores to `X-Unknown-Fields`, as in `items.0.boxid -> boxId, colour`. `where` comes before
 * their names.
 */
export function nameUnknownFields(response: ServerResponse, schema: unknown, value: unknown, ...where: string[]): void {
  const named = response.getHeader("X-Unknown-Fields")?.toString().split(", ") ?? [];
  const most = named.length + MOST_FIELDS;
  for (const field of unknownFields([schema], value, where)) {
    named.push(named.length < most ? field : "...");
    if (named.length > most) break;
  }
  if (named.length > 0) response.setHeader("X-Unknown-Fields", named.join(", "));
}
