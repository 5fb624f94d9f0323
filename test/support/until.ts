import { setTimeout as delay } from "node:timers/promises";

/** Asks until the answer is neither undefined nor false, and gives it; the test's own limit of time ends a vain wait. */
export async function until<T>(ask: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    await delay(20);
  }
}
