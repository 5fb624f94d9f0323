/** Seconds before each retry: short at first, for a restart; 24 hours in all, for an outage overnight. */
const WAITS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 10_800, 14_400, 21_600, 21_600, 4_645];

const FIRST_PAUSE_SECONDS = 1;
const LONGEST_PAUSE_SECONDS = 300;

/** Adds jitter of up to a fifth, so that messages that failed together are not retried together. `random` is from 0 to 1. */
const spread = (seconds: number, random: number): number => seconds * (0.8 + 0.4 * random);

/**
 * Returns the seconds until the retry of a message that failed `attempts` times; null when there is none. A longer wait
 * that the receiver asked for wins.
 */
export function nextWait(attempts: number, askedSeconds: number | null, random: number): number | null {
  const wait = WAITS[attempts - 1];
  return wait === undefined ? null : Math.max(spread(wait, random), askedSeconds ?? 0);
}

/** Returns the seconds of an endpoint's pause after so many consecutive failures, of any messages. */
export function pauseAfter(failures: number, askedSeconds: number | null, random: number): number {
  const pause = Math.min(FIRST_PAUSE_SECONDS * 2 ** (failures - 1), LONGEST_PAUSE_SECONDS);
  return Math.max(spread(pause, random), Math.min(askedSeconds ?? 0, LONGEST_PAUSE_SECONDS));
}
