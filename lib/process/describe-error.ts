const LONGEST = 300;

/** Values that libraries like to quote in their messages: anything in quotes, e-mail addresses, long runs of digits. */
const QUOTED_VALUES = [/"[^"]*"/g, /'[^']*'/g, /[^\s<>]+@[^\s<>]+/g, /\+?\d(?:[\s()-]*\d){6,}/g];

/**
 * Says in one line what went wrong, fit for the job's row, the dashboard and the log: messages may quote the data they
 * failed on, so every value in them is masked, except in names that the schema itself gives (SQLSTATE and constraint).
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return "something was thrown that is no error";
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

/** The same with the places in the code that led there, for people who look for the cause. */
export function describeErrorWithPlaces(error: unknown): string {
  const places = error instanceof Error ? (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)) : [];
  return [describeError(error), ...places].join("\n");
}
