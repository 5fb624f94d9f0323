/** How calls to a third party ended in this process, in the last minutes. */
export interface VendorCalls {
  vendor: string;
  calls: number;
  /** Those that the vendor did not answer, or could not carry out now. */
  failed: number;
}

const MINUTE_MS = 60_000;
const MINUTES = 5;

interface Minute {
  readonly number: number;
  calls: number;
  failed: number;
}

/** By vendor, the latest first. Vendors are named by the code, not by clients, so there are few. */
const minutes = new Map<string, Minute[]>();

/** Counts a call. */
export function recordCall(vendor: string, failed: boolean, now = Date.now()): void {
  const number = Math.floor(now / MINUTE_MS);
  const kept = (minutes.get(vendor) ?? []).slice(0, MINUTES);
  const [latest] = kept;
  const minute = latest?.number === number ? latest : { number, calls: 0, failed: 0 };
  minute.calls += 1;
  minute.failed += Number(failed);
  minutes.set(vendor, minute === latest ? kept : [minute, ...kept]);
}

/** Returns the calls of the last five minutes, of vendors that were called. */
export function recentCalls(now = Date.now()): VendorCalls[] {
  const since = Math.floor(now / MINUTE_MS) - MINUTES;
  return [...minutes].flatMap(([vendor, all]) => {
    const recent = all.filter(({ number }) => number > since);
    const calls = recent.reduce((sum, minute) => sum + minute.calls, 0);
    const failed = recent.reduce((sum, minute) => sum + minute.failed, 0);
    return calls === 0 ? [] : [{ vendor, calls, failed }];
  });
}
