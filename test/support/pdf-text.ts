import { inflateSync } from "node:zlib";

/** Returns the objects of a PDF that pdfkit wrote, by number, with the bytes of their streams as text. */
function objectsOf(pdf: Buffer): Map<string, { head: string; stream: string }> {
  const objects = new Map<string, { head: string; stream: string }>();
  const text = pdf.toString("latin1");
  for (const found of text.matchAll(/(\d+) 0 obj\n/g)) {
    const start = found.index + found[0].length;
    const [head = ""] = text.slice(start).split(/\nendobj|\nstream\n/, 1);
    const isStream = text.startsWith("\nstream\n", start + head.length);
    const bytes = pdf.subarray(
      start + head.length + "\nstream\n".length,
      text.indexOf("\nendstream", start + head.length),
    );
    const stream = !isStream ? "" : (head.includes("FlateDecode") ? inflateSync(bytes) : bytes).toString("latin1");
    objects.set(found[1] ?? "", { head, stream });
  }
  return objects;
}

const utf16 = (hex: string) => Buffer.from(hex, "hex").swap16().toString("utf16le");

/** Returns the character of each code of a font, from its ToUnicode table. */
function lettersOf(table: string): Map<number, string> {
  const letters = new Map<number, string>();
  for (const [, first = "", list = ""] of table.matchAll(/<(\w{4})> <\w{4}> \[([^\]]*)\]/g)) {
    for (const [n, [, codes = ""]] of [...list.matchAll(/<([\w ]*)>/g)].entries())
      letters.set(Number.parseInt(first, 16) + n, utf16(codes.replaceAll(" ", "")));
  }
  return letters;
}

/**
 * Returns the texts of a PDF that pdfkit wrote, as a reader would copy them: a line for each text with a position of its
 * own.
 */
export function textOfPdf(pdf: Buffer): string {
  const objects = objectsOf(pdf);
  const fonts = new Map<string, Map<number, string>>();
  for (const { head } of objects.values()) {
    for (const [, name = "", font = ""] of head.matchAll(/\/(F\d+) (\d+) 0 R/g)) {
      const [, table = ""] = /\/ToUnicode (\d+) 0 R/.exec(objects.get(font)?.head ?? "") ?? [];
      fonts.set(name, lettersOf(objects.get(table)?.stream ?? ""));
    }
  }
  const lines: string[] = [];
  for (const { stream } of objects.values()) {
    let letters = new Map<number, string>();
    for (const [, font, shown] of stream.matchAll(/\/(F\d+) [\d.]+ Tf|\[([^\]]*)\] TJ/g)) {
      if (font !== undefined) letters = fonts.get(font) ?? letters;
      const codes = [...(shown ?? "").matchAll(/<(\w+)>/g)].flatMap(([, hex = ""]) => hex.match(/\w{4}/g) ?? []);
      if (codes.length > 0) lines.push(codes.map((code) => letters.get(Number.parseInt(code, 16)) ?? "?").join(""));
    }
  }
  return lines.join("\n").replaceAll(/[\u00a0\u202f]/g, " ");
}
