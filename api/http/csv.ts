import type { Response } from "express";
import { z } from "zod";

/** The columns of a response: the fields that the schema of its object, or of the objects in its list, declares. */
export function columnsOf(schema: unknown): string[] {
  const row: unknown = schema instanceof z.ZodArray ? schema.element : schema;
  if (!(row instanceof z.ZodObject)) throw new Error("only an object or a list of objects can be sent as CSV");
  return Object.keys(row.shape);
}

/** A spreadsheet takes a cell that begins with one of these for a formula. */
const formula = /^[=+\-@\t\r＝＋－＠]/;

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "string") throw new TypeError(`${typeof value} cannot be a CSV cell`);
  const text = formula.test(value) ? `'${value}` : value;
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const Row = z.record(z.string(), z.unknown());

/** Returns an object or a list of objects as CSV (RFC 4180) with a header row. */
export function toCsv(columns: readonly string[], value: unknown): string {
  const rows = z.array(Row).parse(Array.isArray(value) ? value : [value]);
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

/** Sends a value as a CSV file. */
export function sendCsv(response: Response, columns: readonly string[], value: unknown, name: string): void {
  response.setHeader("Content-Type", "text/csv; charset=utf-8; header=present");
  response.setHeader("Content-Disposition", `attachment; filename="${name}.csv"`);
  response.end(toCsv(columns, value));
}
