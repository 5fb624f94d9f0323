import { CsvError, parse } from "csv-parse/sync";
import { limits } from "../domain/limits.js";
import { toMajor, type Minor } from "../domain/money.js";

/** The columns of a menu file, by exact name; a file may have them in any order. */
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

/** What the header of a file determines. */
export interface MenuHeader {
  columns: readonly MenuColumn[];
  delimiter: Delimiter;
  /** Bytes and line ends up to the first row. */
  position: number;
  lines: number;
}

/** The file's first line does not name the columns as required. */
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

/** Far more than there are columns; the parser ignores delimiters beyond these. */
export const MAX_FIELDS = 1_000;

/** The line ends that a file may have, even mixed. */
export const lineEnds = ["\r\n", "\n", "\r"];

export const countLineEnds = (text: string): number => text.match(/\r\n|\n|\r/g)?.length ?? 0;

const isColumn = (name: string): name is MenuColumn => menuColumns.some((column) => column === name);

/** Returns the delimiter that comes first; no column's name contains one. */
function delimiterOf(line: string): Delimiter {
  const [found] = /[,;]/.exec(line) ?? [];
  if (found === undefined && line.includes("\t"))
    throw new WrongHeader(null, "Fields must be separated by commas or semicolons, not by tabs.");
  return found === ";" ? ";" : ",";
}

const namesColumns = `its first line must name its columns: ${required.join(", ")} and, if wanted, ${menuColumns.filter((name) => !required.includes(name)).join(", ")}`;

/** The first bytes of spreadsheets: xlsx and xls. */
const spreadsheets = [Buffer.from("504b0304", "hex"), Buffer.from("d0cf11e0", "hex")];
const utf16Marks = [Buffer.from("fffe", "hex"), Buffer.from("feff", "hex")];

/** Throws WrongHeader when a file begins as a spreadsheet or as UTF-16, not as CSV in UTF-8. */
export function checkFormat(head: Buffer): void {
  const begins = (mark: Buffer) => head.subarray(0, mark.length).equals(mark);
  const end = head.findIndex((byte) => byte === 0x0a || byte === 0x0d);
  const hasNul = head.subarray(0, end < 0 ? head.length : end).includes(0);
  if (spreadsheets.some(begins)) throw new WrongHeader(null, "This is a spreadsheet, not CSV: save it as “CSV UTF-8”.");
  if (hasNul || utf16Marks.some(begins))
    throw new WrongHeader(null, "This is UTF-16, not UTF-8: save it as “CSV UTF-8”.");
}

/** The line before the header in which Excel notes the delimiter. */
const separatorLine = /^\ufeff?sep=([,;])(?:\r\n|\n|\r)/;

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
    if (error instanceof CsvError) throw new WrongHeader(null, `The file cannot be read as CSV: ${namesColumns}.`);
    throw error;
  }
  return first;
}

const shorten = (name: string) => (name.length > 60 ? `${name.slice(0, 60)}…` : name).replace(/\p{Cc}/gu, "\ufffd");

/** Returns the error for a name that no column has. */
function unknownColumn(name: string): WrongHeader {
  const shown = shorten(name);
  const meant = menuColumns.find((column) => column.toLowerCase() === name.trim().toLowerCase());
  return new WrongHeader(
    shown,
    meant === undefined
      ? `There is no column “${shown}”: they are ${menuColumns.join(", ")}, exactly so.`
      : `The column “${shown}” must be “${meant}”, exactly so, without blanks and with the same capital and small letters.`,
  );
}

/** Parses the header from the first bytes of a file, which must contain all of it; throws WrongHeader. */
export function readHeader(head: Buffer): MenuHeader {
  const [before = "", separator] = separatorLine.exec(head.toString()) ?? [];
  const skipped = Buffer.byteLength(before);
  const rest = head.subarray(skipped);
  const [line = ""] = rest
    .toString()
    .trimStart()
    .split(/[\r\n]/, 1);
  const delimiter = delimiterOf(separator ?? line);
  const first = readFirstRecord(rest, delimiter);
  if (!first) throw new WrongHeader(null, `The file is empty: ${namesColumns}.`);
  const columns = first.names.map((name) => {
    if (isColumn(name)) return name;
    throw unknownColumn(name);
  });
  const repeated = columns.find((name, n) => columns.indexOf(name) !== n);
  if (repeated !== undefined) throw new WrongHeader(repeated, `The column ${repeated} is there twice.`);
  const missing = required.find((name) => !columns.includes(name));
  if (missing !== undefined) throw new WrongHeader(missing, `The column ${missing} is missing: ${namesColumns}.`);
  const lines = first.emptyLines + (separator === undefined ? 1 : 2);
  return { columns, delimiter, position: skipped + first.bytes, lines };
}

/** A valid row. */
export interface MenuRow {
  name: string;
  category: string;
  priceMinor: Minor;
  externalId: string | null;
  description: string | null;
  weightGrams: number | null;
  /** Null: the file does not say. */
  available: boolean | null;
}

/** Why a row is rejected; the column is null when the row as a whole is wrong. */
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

const yes: readonly string[] = ["true", "1", "yes"];
const no: readonly string[] = ["false", "0", "no"];

/** Whether a field took in the lines after a quote that was not closed; the quote then stays at its beginning. */
const swallowed = (field: string) => field.startsWith('"') && /[\r\n]/.test(field);

/** Returns a function that parses rows with these columns: null for an empty row, else the row or its fault. */
export function rowReader(columns: readonly MenuColumn[]): (fields: readonly string[]) => MenuRow | RowFault | null {
  // a missing column reads as an empty one
  const trimmed = (fields: readonly string[], column: MenuColumn) => fields[columns.indexOf(column)]?.trim() ?? "";
  const optional = (fields: readonly string[], column: MenuColumn, max: number): string | null => {
    const text = trimmed(fields, column);
    if (text === "") return null;
    if (text.length > max) throw new Fault(column, `must have at most ${max} characters`);
    if (text.includes("\u0000")) throw new Fault(column, "must be text without NUL characters");
    return text;
  };
  const text = (fields: readonly string[], column: MenuColumn, max: number): string => {
    const value = optional(fields, column, max);
    if (value === null) throw new Fault(column, "must not be empty");
    return value;
  };
  const readPrice = (field: string): Minor => {
    const [, whole, fraction = ""] = price.exec(field) ?? [];
    const minor = whole === undefined ? Infinity : Number(whole + fraction.padEnd(2, "0"));
    if (minor > limits.priceMinor)
      throw new Fault(
        "price",
        `must be digits only, without currency or thousands separators, such as 249.90 or 249,90, and at most ${toMajor(limits.priceMinor)}`,
      );
    return minor;
  };
  const readWeight = (field: string): number | null => {
    if (field === "") return null;
    const grams = /^\d{1,7}$/.test(field) ? Number(field) : 0;
    if (grams < 1 || grams > limits.weightGrams)
      throw new Fault("weightGrams", `must be whole grams between 1 and ${limits.weightGrams}`);
    return grams;
  };
  const readAvailable = (field: string): boolean | null => {
    if (field === "") return null;
    const answer = field.toLowerCase();
    if (![...yes, ...no].includes(answer)) throw new Fault("available", "must be true, false, 1, 0, yes or no");
    return yes.includes(answer);
  };

  const read = (fields: readonly string[]): MenuRow => {
    if (fields.some(swallowed)) throw new Fault(null, "has a quote that is not closed, or not followed by a delimiter");
    if (fields.length !== columns.length) {
      const count = fields.length < MAX_FIELDS ? fields.length : `${MAX_FIELDS} or more`;
      throw new Fault(null, `must have as many fields as the header, ${columns.length}, and has ${count}`);
    }
    return {
      name: text(fields, "name", limits.text.name),
      category: text(fields, "category", limits.text.category),
      priceMinor: readPrice(trimmed(fields, "price")),
      externalId: optional(fields, "externalId", limits.text.externalId),
      description: optional(fields, "description", limits.text.description),
      weightGrams: readWeight(trimmed(fields, "weightGrams")),
      available: readAvailable(trimmed(fields, "available")),
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
