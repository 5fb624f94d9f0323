/** How calls to a third party ended in this process, in the last minutes. */
export interface VendorCalls {
  vendor: string;
  calls: number;
  /** Those that the vendor did not answer, or could not carry out now. */
  failed: number;
}

/** When a third party was last called; null: never with this result. */
export interface LastCalls {
  vendor: string;
  succeededAt: Date | null;
  failedAt: Date | null;
}

const MINUTE_MS = 60_000;
const MINUTES = 5;

interface Minute {
  readonly number: number;
  calls: number;
  failed: number;
}

interface Calls {
  /** The latest first. */
  minutes: Minute[];
  succeededAt: Date | null;
  failedAt: Date | null;
}

/** By vendor. Vendors are named by the code, not by clients, so there are few. */
const vendors = new Map<string, Calls>();

/** Counts a call. */
export function recordCall(vendor: string, failed: boolean, now = Date.now()): void {
  const calls = vendors.get(vendor) ?? { minutes: [], succeededAt: null, failedAt: null };
  vendors.set(vendor, calls);
  calls[failed ? "failedAt" : "succeededAt"] = new Date(now);
  const number = Math.floor(now / MINUTE_MS);
  const [latest] = calls.minutes;
  const minute = latest?.number === number ? latest : { number, calls: 0, failed: 0 };
  minute.calls += 1;
  minute.failed += Number(failed);
  if (minute !== latest) calls.minutes = [minute, ...calls.minutes.slice(0, MINUTES)];
}

/** Returns the calls of the last five minutes, of vendors that were called. */
export function recentCalls(now = Date.now()): VendorCalls[] {
  const since = Math.floor(now / MINUTE_MS) - MINUTES;
  return [...vendors].flatMap(([vendor, { minutes }]) => {
    const recent = minutes.filter(({ number }) => number > since);
    const calls = recent.reduce((sum, minute) => sum + minute.calls, 0);
    const failed = recent.reduce((sum, minute) => sum + minute.failed, 0);
    return calls === 0 ? [] : [{ vendor, calls, failed }];
  });
}

/** Returns when this process last called each vendor. */
export const lastCalls = (): LastCalls[] =>
  [...vendors].map(([vendor, { succeededAt, failedAt }]) => ({ vendor, succeededAt, failedAt }));
