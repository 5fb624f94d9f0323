/** A Markdown table, formatted as Prettier does. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows.map((row) => row.map((text) => text.replaceAll("|", "\\|")))];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[], fill = " ") => {
    const padded = cells.map((text, column) => text.padEnd(widths[column] ?? 0, fill));
    return `| ${padded.join(" | ")} |`;
  };
  const [head = "", ...body] = all.map((row) => line(row));
  const rule = line(Array<string>(header.length).fill(""), "-");
  return [head, rule, ...body].join("\n");
}

/** Returns the text with `content` between two marks; throws without them. */
export function between(text: string, start: string, end: string, content: string): string {
  const from = text.indexOf(start);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`the text has no marks ${start.trim()} and ${end.trim()}`);
  return `${text.slice(0, from + start.length)}${content}${text.slice(to)}`;
}
