import { readFileSync } from "node:fs";

/** Reads what an app must know beyond the schemas: the texts of conventions.md by their headings. */
export function readConventions(): ReadonlyMap<string, string> {
  const text = readFileSync(new URL("../conventions.md", import.meta.url), "utf8");
  const [, ...parts] = text.split(/^## /m);
  return new Map(
    parts.map((part) => {
      const [heading = "", ...lines] = part.split("\n");
      return [heading, lines.join("\n").trim()];
    }),
  );
}
