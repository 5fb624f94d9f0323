import { openSlots } from "./slots.js";

/**
 * Runs work, as much of one key at once as `count` allows; a piece counts as its `size`, 1 by default. The others wait in the order
 * of their arrival, each for `waitMs` at most, and hold nothing that work of other keys needs.
 */
export function openTurns(what: string, count: number, waitMs: number) {
  const lines = new Map<string, ReturnType<typeof openSlots>>();
  return async <T>(key: string, work: () => Promise<T>, size = 1): Promise<T> => {
    const line = lines.get(key) ?? openSlots(what, count, waitMs);
    lines.set(key, line);
    await line.acquire(size);
    try {
      return await work();
    } finally {
      line.release(size);
      if (line.taken() === 0) lines.delete(key);
    }
  };
}
