const LONGEST = 300;

/**
 * Anything between apostrophes. After a letter one opens nothing ("certificate's"), and before a letter or digit it closes
 * nothing ('O'Brien'), unless no other does.
 */
const IN_APOSTROPHES = /(?<!\p{L})'[^']*(?:'(?=[\p{L}\p{N}])[^']*)*'/gu;

/** Values that libraries quote in their messages: anything in quotes, e-mail addresses, long runs of digits. */
const QUOTED_VALUES = [/"[^"]*"/g, IN_APOSTROPHES, /[^\s<>]+@[^\s<>]+/g, /\+?\d(?:[\s()-]*\d){6,}/g];

/**
 * Describes an error in one line for the job's row, the dashboard and the log. Messages may quote the data they failed on,
 * so every value in them is masked; SQLSTATE and the constraint's name stay.
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return "the thrown value is not an Error";
  const facts = ["code", "constraint_name"]
    .map((key): unknown => Reflect.get(error, key))
    .filter((fact) => typeof fact === "string" || typeof fact === "number");
  const message = QUOTED_VALUES.reduce(
    (text, values) => text.replace(values, "…"),
    error.message.replace(/[\0\s]+/g, " "),
  );
  return [error.name, ...facts]
    .join(" ")
    .concat(message ? `: ${message}` : "")
    .slice(0, LONGEST);
}

/** Describes an error as `describeError` does, with its stack. */
export function describeErrorWithStack(error: unknown): string {
  const frames = error instanceof Error ? (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)) : [];
  return [describeError(error), ...frames].join("\n");
}
