import { DatabaseError } from "./errors.js";

interface Waiting {
  size: number;
  take: () => void;
}

/**
 * Limits how much runs at once: a caller acquires one of `count` slots, or several, and releases them later. Callers wait in the
 * order of their arrival, each for `waitMs` at most and half of it at least. How long is random: callers that came together
 * and were refused together would keep the process busy all at once, and come back together.
 */
export function openSlots(what: string, count: number, waitMs: number) {
  const waiting = new Set<Waiting>();
  let taken = 0;

  return {
    /** Slots in use. */
    taken: () => taken,
    /** Callers that wait for slots. */
    waiting: () => waiting.size,
    /** Resolves when the caller has its slots; rejects with 53300 when they do not become free in time. */
    async acquire(size = 1): Promise<void> {
      if (waiting.size === 0 && taken + size <= count) {
        taken += size;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const caller = {
          size,
          take: () => {
            clearTimeout(timer);
            resolve();
          },
        };
        const timer = setTimeout(
          () => {
            waiting.delete(caller);
            reject(new DatabaseError(`too many ${what} are waiting`, "53300"));
          },
          (waitMs * (1 + Math.random())) / 2,
        );
        waiting.add(caller);
      });
    },
    /** Gives the slots to the callers that have waited longest. */
    release(size = 1): void {
      taken -= size;
      for (const next of waiting) {
        if (taken + next.size > count) return;
        waiting.delete(next);
        taken += next.size;
        next.take();
      }
    },
  };
}
