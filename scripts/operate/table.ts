import { options } from "./arguments.js";

type Cell = string | number | boolean | Date | null;
export type Row = Readonly<Record<string, Cell>>;

const shown = (cell: Cell | undefined): string =>
  cell instanceof Date ? cell.toISOString().slice(0, 19).replace("T", " ") : String(cell ?? "");

/** Prints rows as a table, or as JSON. */
export function print(rows: readonly Row[]): void {
  if (options.json) {
    process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  const names = Object.keys(rows[0] ?? {});
  const width = (name: string) => Math.max(name.length, ...rows.map((row) => shown(row[name]).length));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, n) => cell.padEnd(width(names[n] ?? "")))
      .join("  ")
      .trimEnd();
  const lines =
    rows.length === 0 ? ["Nothing."] : [line(names), ...rows.map((row) => line(names.map((name) => shown(row[name]))))];
  process.stdout.write(`${lines.join("\n")}\n`);
}
