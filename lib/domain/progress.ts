/** Less of a work than this says little about the rest. */
const LEAST_PART = 0.01;

/** Says that so much of a work is done, of so much where that is known. It costs little, and never throws. */
export type ReportProgress = (done: number, total: number | null) => void;

/** Returns which part of a work is done, from 0 to 1; null when it is unknown how much there is. */
export const partOf = (done: number, total: number | null): number | null =>
  total === null || total <= 0 ? null : Math.min(Math.max(done / total, 0), 1);

/**
 * Returns when a work that began at `startedAt`, when the part `from` of it was done, will have ended, if it goes on as it did; null
 * when that is unknown, or too little has been done since to tell, or all is done.
 */
export function estimateEnd(part: number | null, startedAt: Date | null, now: number, from = 0): Date | null {
  if (part === null || startedAt === null || !(part - from >= LEAST_PART && part < 1)) return null;
  const passed = now - startedAt.getTime();
  // the clocks of two machines may differ
  return passed > 0 ? new Date(now + (passed * (1 - part)) / (part - from)) : null;
}
