/** Below this share the pace so far does not predict the rest. */
const LEAST_PART = 0.01;

/** Reports the amount that is done, and the total where it is known. It is cheap and never throws. */
export type ReportProgress = (done: number, total: number | null) => void;

/** Returns the share that is done, from 0 to 1; null when the total is unknown. */
export const partOf = (done: number, total: number | null): number | null =>
  total === null || total <= 0 ? null : Math.min(Math.max(done / total, 0), 1);

/**
 * Returns the estimated end of a work that began at `startedAt` with the share `from` done, at its pace since then. Null
 * when the total is unknown, too little has been done since, or all is done.
 */
export function estimateEnd(part: number | null, startedAt: Date | null, now: number, from = 0): Date | null {
  if (part === null || startedAt === null || !(part - from >= LEAST_PART && part < 1)) return null;
  const passed = now - startedAt.getTime();
  // the clocks of two machines may differ
  return passed > 0 ? new Date(now + (passed * (1 - part)) / (part - from)) : null;
}
