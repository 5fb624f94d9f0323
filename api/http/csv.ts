import type { Response } from "express";
import { z } from "zod";

/** The columns of an answer: the members of the object, or of each object of the list, that its schema describes. */
export function columnsOf(schema: unknown): string[] {
  const row: unknown = schema instanceof z.ZodArray ? schema.element : schema;
  if (!(row instanceof z.ZodObject)) throw new Error("only an object or a list of objects can be answered as CSV");
  return Object.keys(row.shape);
}

/** What a spreadsheet would take for a formula begins with one of these. */
const formula = /^[=+\-@\t\r＝＋－＠]/;

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") throw new TypeError(`${typeof value} cannot be a cell of CSV`);
  const text = formula.test(value) ? `'${value}` : value;
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const Row = z.record(z.string(), z.unknown());

/** Writes an object or a list of objects as CSV (RFC 4180), the names of the columns first. */
export function toCsv(columns: readonly string[], value: unknown): string {
  const rows = z.array(Row).parse(Array.isArray(value) ? value : [value]);
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

/** Sends a value as a file of CSV. */
export function sendCsv(response: Response, columns: readonly string[], value: unknown, name: string): void {
  response.setHeader("Content-Type", "text/csv; charset=utf-8; header=present");
  response.setHeader("Content-Disposition", `attachment; filename="${name}.csv"`);
  response.end(toCsv(columns, value));
}
