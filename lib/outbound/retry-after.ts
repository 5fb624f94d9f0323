/** Nobody is waited for longer. */
const LONGEST_SECONDS = 24 * 60 * 60;

/** What a `Retry-After` header asks for, in seconds from `now`: it has either their number or a date. Null for neither. */
export function retryAfterSeconds(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? "";
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now.getTime()) / 1_000;
  return Number.isNaN(seconds) ? null : Math.min(Math.max(Math.ceil(seconds), 0), LONGEST_SECONDS);
}

const counted = (count: number, unit: string) => `${count} ${unit}${count === 1 ? "" : "s"}`;

/** How long so many seconds are, for people; never less than they are. */
export function waitInWords(seconds: number): string {
  if (seconds < 120) return counted(Math.ceil(seconds), "second");
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? counted(minutes, "minute") : counted(Math.ceil(minutes / 60), "hour");
}
