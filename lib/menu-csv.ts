import { CsvError, parse } from "csv-parse/sync";
import type { Minor } from "./money.js";

/** The columns of a menu as CSV, by their exact names; in a file they may come in any order. */
export const menuColumns = [
  "name",
  "category",
  "price",
  "externalId",
  "description",
  "weightGrams",
  "available",
] as const;
export type MenuColumn = (typeof menuColumns)[number];

const required: readonly MenuColumn[] = ["name", "category", "price"];

export type Delimiter = "," | ";";

/** What the first line of a file says of the others. */
export interface MenuHeader {
  columns: readonly MenuColumn[];
  delimiter: Delimiter;
  /** Bytes and line ends up to the first row. */
  position: number;
  lines: number;
}

/** A file whose first line does not name the columns as it must. */
export class WrongHeader extends Error {
  override name = "WrongHeader";
  constructor(
    /** The column at fault; null when there is no header at all. */
    readonly column: string | null,
    message: string,
  ) {
    super(message);
  }
}

/** Every kind of line end that a file may have, even mixed. */
export const lineEnds = ["\r\n", "\n", "\r"];

export const countLineEnds = (text: string): number => text.match(/\r\n|\n|\r/g)?.length ?? 0;

const isColumn = (name: string): name is MenuColumn => menuColumns.some((column) => column === name);

/** Whichever of the two comes first: no name of a column has either of them. */
const delimiterOf = (line: string): Delimiter => (/[,;]/.exec(line)?.[0] === ";" ? ";" : ",");

interface FirstRecord {
  names: string[];
  bytes: number;
  emptyLines: number;
}

function readFirstRecord(head: Buffer, delimiter: Delimiter): FirstRecord | undefined {
  let first: FirstRecord | undefined;
  try {
    parse(head, {
      bom: true,
      delimiter,
      record_delimiter: lineEnds,
      skip_empty_lines: true,
      to: 1,
      on_record: (names: string[], { bytes, empty_lines }) => {
        first = { names, bytes, emptyLines: empty_lines };
        return null;
      },
    });
  } catch (error) {
    if (error instanceof CsvError) throw new WrongHeader(null, "The first line of the file must name its columns.");
    throw error;
  }
  return first;
}

const shorten = (name: string) => (name.length > 60 ? `${name.slice(0, 60)}…` : name);

/** Reads the header from the beginning of a file, which must have all of it; throws WrongHeader. */
export function readHeader(head: Buffer): MenuHeader {
  const [line = ""] = head
    .toString()
    .trimStart()
    .split(/[\r\n]/, 1);
  const delimiter = delimiterOf(line);
  const first = readFirstRecord(head, delimiter);
  if (!first) throw new WrongHeader(null, "The file is empty: its first line must name its columns.");
  const columns = first.names.map((name) => {
    if (isColumn(name)) return name;
    throw new WrongHeader(
      shorten(name),
      `There is no column “${shorten(name)}”: they are ${menuColumns.join(", ")}, exactly so.`,
    );
  });
  const repeated = columns.find((name, n) => columns.indexOf(name) !== n);
  if (repeated !== undefined) throw new WrongHeader(repeated, `The column ${repeated} is there twice.`);
  const missing = required.find((name) => !columns.includes(name));
  if (missing !== undefined) throw new WrongHeader(missing, `The column ${missing} is missing.`);
  return { columns, delimiter, position: first.bytes, lines: first.emptyLines + 1 };
}

/** A row that may go into the menu. */
export interface MenuRow {
  name: string;
  category: string;
  priceMinor: Minor;
  externalId: string | null;
  description: string | null;
  weightGrams: number | null;
  /** Null: nothing is said of it. */
  available: boolean | null;
}

/** Why a row may not; the column is null when it is the row as a whole. */
export interface RowFault {
  column: MenuColumn | null;
  message: string;
}

/** Thrown and caught in this file only. */
class Fault extends Error implements RowFault {
  constructor(
    readonly column: MenuColumn | null,
    message: string,
  ) {
    super(message);
  }
}

const price = /^(\d{1,8})(?:[.,](\d{1,2}))?$/;
const maxPriceMinor = 1_000_000_000;

const availability = new Map([
  ["true", true],
  ["1", true],
  ["yes", true],
  ["false", false],
  ["0", false],
  ["no", false],
]);

/** A quote that is opened and never properly closed takes the lines after it into its field, and stays at its beginning. */
const swallowed = (field: string) => field.startsWith('"') && /[\r\n]/.test(field);

/** Makes what reads rows with these columns: null for one without any content, else the row, or what is wrong with it. */
export function rowReader(columns: readonly MenuColumn[]): (fields: readonly string[]) => MenuRow | RowFault | null {
  const nameAt = columns.indexOf("name");
  const categoryAt = columns.indexOf("category");
  const priceAt = columns.indexOf("price");
  const externalIdAt = columns.indexOf("externalId");
  const descriptionAt = columns.indexOf("description");
  const weightAt = columns.indexOf("weightGrams");
  const availableAt = columns.indexOf("available");

  // a column that the file does not have is as one that is empty
  const trimmed = (fields: readonly string[], at: number) => fields[at]?.trim() ?? "";
  const optional = (fields: readonly string[], at: number, column: MenuColumn, max: number): string | null => {
    const text = trimmed(fields, at);
    if (text === "") return null;
    if (text.length > max) throw new Fault(column, `must have at most ${max} characters`);
    if (text.includes("\u0000")) throw new Fault(column, "must be text without NUL characters");
    return text;
  };
  const text = (fields: readonly string[], at: number, column: MenuColumn, max: number): string => {
    const value = optional(fields, at, column, max);
    if (value === null) throw new Fault(column, "must not be empty");
    return value;
  };
  const readPrice = (field: string): Minor => {
    const [, whole, fraction = ""] = price.exec(field) ?? [];
    const minor = whole === undefined ? Infinity : Number(whole + fraction.padEnd(2, "0"));
    if (minor > maxPriceMinor)
      throw new Fault("price", "must be between 0 and 10000000 with at most two decimals, such as 249.90");
    return minor;
  };
  const readWeight = (field: string): number | null => {
    if (field === "") return null;
    const grams = /^\d{1,7}$/.test(field) ? Number(field) : 0;
    if (grams < 1 || grams > 1_000_000) throw new Fault("weightGrams", "must be whole grams between 1 and 1000000");
    return grams;
  };
  const readAvailable = (field: string): boolean | null => {
    if (field === "") return null;
    const available = availability.get(field.toLowerCase());
    if (available === undefined) throw new Fault("available", "must be true, false, 1, 0, yes or no");
    return available;
  };

  const read = (fields: readonly string[]): MenuRow => {
    if (fields.some(swallowed)) throw new Fault(null, "has a quote that is not closed, or not followed by a delimiter");
    if (fields.length !== columns.length)
      throw new Fault(null, `must have as many fields as the header, ${columns.length}, and has ${fields.length}`);
    return {
      name: text(fields, nameAt, "name", 200),
      category: text(fields, categoryAt, "category", 100),
      priceMinor: readPrice(trimmed(fields, priceAt)),
      externalId: optional(fields, externalIdAt, "externalId", 200),
      description: optional(fields, descriptionAt, "description", 2_000),
      weightGrams: readWeight(trimmed(fields, weightAt)),
      available: readAvailable(trimmed(fields, availableAt)),
    };
  };

  return (fields) => {
    try {
      return read(fields);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (fields.every((field) => field.trim() === "")) return null;
      return { column: error.column, message: error.message };
    }
  };
}
