/**
 * Returns the wait that a `Retry-After` header asks for, in whole seconds, `most` at most; null when the header has neither
 * a number nor a date, or is repeated.
 */
export function retryAfterSeconds(header: string | string[] | undefined, now: Date, most: number): number | null {
  if (typeof header !== "string") return null;
  const text = header.trim();
  // every form of a date begins with its day of the week; `Date.parse` takes a bare "-5" for a year
  if (!/^(\d+|[A-Za-z]{3,9},? .*)$/.test(text)) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now.getTime()) / 1_000;
  return Number.isNaN(seconds) ? null : Math.min(Math.max(Math.ceil(seconds), 0), most);
}

const counted = (count: number, unit: string) => `${count} ${unit}${count === 1 ? "" : "s"}`;

/** Formats a wait for people, rounded up. */
export function formatWait(seconds: number): string {
  if (seconds < 120) return counted(Math.ceil(seconds), "second");
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? counted(minutes, "minute") : counted(Math.ceil(minutes / 60), "hour");
}
