/** What a check found out: `failed` keeps the service, or a part of it, from working. */
export interface Finding {
  readonly result: "ok" | "off" | "warning" | "failed";
  readonly details: string;
}

/** How long a check may take. */
export const LIMIT_MS = 15_000;

export const ok = (details: string): Finding => ({ result: "ok", details });
/** What is checked is not configured, and need not be. */
export const off = (details: string): Finding => ({ result: "off", details });
export const warning = (details: string): Finding => ({ result: "warning", details });
export const failed = (details: string): Finding => ({ result: "failed", details });

/** A named check; several findings are a row each. */
export interface Check {
  readonly name: string;
  readonly find: () => Promise<Finding | readonly Finding[]>;
}

const marks = { ok: "ok", off: "-", warning: "warning", failed: "FAILED" };

/** The findings as a table for a terminal, a line each. */
export function table(rows: readonly (readonly [name: string, finding: Finding])[]): string {
  const cells = rows.map(([name, { result, details }]) => [name, marks[result], details]);
  const head = ["Check", "Result", "What was found"];
  const width = (column: number) => Math.max(...[head, ...cells].map((row) => row[column]?.length ?? 0));
  const [first, second] = [width(0), width(1)];
  return [head, ["-".repeat(first), "-".repeat(second), "-".repeat(head[2]?.length ?? 0)], ...cells]
    .map(([name = "", mark = "", details = ""]) => `${name.padEnd(first)}  ${mark.padEnd(second)}  ${details}\n`)
    .join("");
}
