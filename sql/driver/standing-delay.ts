const INTERVAL_MS = 100;

/**
 * Measures how long statements wait for each other: the duration of the fastest that ended in an interval. A burst that is soon
 * worked off, and slow statements among fast ones, leave it small; it grows when more come than can be done (the idea of CoDel,
 * RFC 8289). `clock` returns milliseconds.
 */
export function openStandingDelay(clock = () => performance.now()) {
  let end = 0;
  let fastest = Infinity;
  let last = 0;

  /** Begins a new interval when the present one is over and a statement has ended in it. */
  const proceed = (now: number): void => {
    if (now < end || fastest === Infinity) return;
    last = fastest;
    fastest = Infinity;
    end = now + INTERVAL_MS;
  };

  return {
    /** Notes that a statement ended which was sent at `start`. */
    note(start: number): void {
      const now = clock();
      proceed(now);
      fastest = Math.min(fastest, now - start);
    },
    /** Notes that the next statement waits for no other. */
    reset(): void {
      last = 0;
      fastest = Infinity;
      end = clock() + INTERVAL_MS;
    },
    ms(): number {
      proceed(clock());
      return last;
    },
  };
}
