import { DatabaseError } from "./errors.js";

/**
 * Limits how much runs at once: a caller acquires one of `count` slots and releases it later. Callers wait in the order of
 * their arrival, each for `waitMs` at most.
 */
export function openSlots(what: string, count: number, waitMs: number) {
  const waiting = new Set<() => void>();
  let taken = 0;

  return {
    /** Slots in use. */
    taken: () => taken,
    /** Callers that wait for a slot. */
    waiting: () => waiting.size,
    /** Resolves when the caller has a slot; rejects with 53300 when none becomes free in time. */
    async acquire(): Promise<void> {
      if (taken < count) {
        taken += 1;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const take = () => {
          clearTimeout(timer);
          resolve();
        };
        const timer = setTimeout(() => {
          waiting.delete(take);
          reject(new DatabaseError(`too many ${what} are waiting`, "53300"));
        }, waitMs);
        waiting.add(take);
      });
    },
    /** Gives the slot to the caller that has waited longest. */
    release(): void {
      const [next] = waiting;
      if (!next) {
        taken -= 1;
        return;
      }
      waiting.delete(next);
      next();
    },
  };
}
