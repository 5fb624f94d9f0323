import type postgres from "postgres";

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new RangeError("an integer from the database is beyond what a number holds exactly");
  return value;
}

const same = (text: string) => text;

/** Returns a parser of one-dimensional Postgres array literals. */
function arrayOf(element: (text: string) => unknown): (literal: string) => unknown[] {
  return (literal) =>
    [...literal.matchAll(/"((?:[^"\\]|\\[^])*)"|[^,{}]+/g)].map(([bare, quoted]) => {
      if (quoted !== undefined) return element(quoted.replace(/\\([^])/g, "$1"));
      return bare === "NULL" ? null : element(bare);
    });
}

const toDate = (text: string) => new Date(text);
const toJson = (text: string): unknown => JSON.parse(text);
const toBytes = (text: string) => Buffer.from(text.slice(2), "hex");

const type = (from: number[], parse: (text: string) => unknown): postgres.PostgresType => ({
  to: from[0] ?? 0,
  from,
  parse,
  serialize: String,
});

/**
 * How result values are parsed. Numbers: floats, and integers, counts and sums of integers within ±2^53 (beyond, the statement
 * fails). Strings: numeric, uuid, enums, `date` (YYYY-MM-DD) and all types not listed here. timestamptz is a Date, in
 * milliseconds. Arrays of these types are arrays; select an array of an enum as text[].
 */
export const types: Record<string, postgres.PostgresType> = {
  bigint: type([20], safeInteger),
  date: type([1082, 1114], same),
  bigints: type([1016], arrayOf(safeInteger)),
  numbers: type([1005, 1007, 1021, 1022], arrayOf(Number)),
  strings: type([1009, 1002, 1015, 1182, 1183, 1115, 1231, 2951], arrayOf(same)),
  booleans: type(
    [1000],
    arrayOf((text) => text === "t"),
  ),
  dates: type([1185], arrayOf(toDate)),
  jsons: type([199, 3807], arrayOf(toJson)),
  bytes: type([1001], arrayOf(toBytes)),
};

/** Returns the Postgres literal of an array, for any type that the statement casts it to. */
export function arrayLiteral(values: readonly unknown[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : `"${elementText(value).replace(/["\\]/g, "\\$&")}"`)).join(",")}}`;
}

function elementText(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return value.toString();
  if (typeof value === "object") return JSON.stringify(value);
  throw new TypeError(`${typeof value} cannot be an element of an array parameter`);
}
