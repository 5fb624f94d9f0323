import { setTimeout as delay } from "node:timers/promises";

/** Polls until the result is neither undefined nor false, and returns it; the test's timeout is the limit. */
export async function until<T>(ask: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    await delay(20);
  }
}
