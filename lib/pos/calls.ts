import { setTimeout as delay } from "node:timers/promises";
import { PosRefused, PosUnavailable } from "./adapter.js";

/** The most that one pull of a menu waits because the POS asks to. */
const patience = { waits: 3, seconds: 20 };

/** Vendors send about a hundred items a page; a list with more pages than this counts as endless. */
const maxPages = 2_000;

/** Returns a function that repeats a call when the POS asks to wait. One budget of waits serves all its calls. */
export function retrying(signal: AbortSignal) {
  let { waits, seconds } = patience;
  return async <T>(ask: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        const asked = error instanceof PosUnavailable ? error.retryAfterSeconds : null;
        if (asked === null || waits === 0 || asked > seconds) throw error;
        waits -= 1;
        seconds -= asked;
        await delay(asked * 1_000, undefined, { signal });
      }
    }
  };
}

/** A page of a list, and the cursor of the next page; none on the last. */
export interface ListPage {
  entries: readonly unknown[];
  next: string | null | undefined;
}

/** Reads a list page by page; throws PosUnavailable when it is endless. */
export async function* readPages(
  read: (cursor: string | null) => Promise<ListPage>,
): AsyncGenerator<readonly unknown[]> {
  const seen = new Set<string>();
  let cursor: string | null = null;
  do {
    const { entries, next }: ListPage = await read(cursor);
    yield entries;
    cursor = next ?? "";
    if (seen.has(cursor) || seen.size >= maxPages) throw new PosUnavailable("the POS sends pages without end");
    seen.add(cursor);
  } while (cursor !== "");
}

const sentence = (phrase: string) => `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`;

/** Returns the result of a connection test; the POS's refusal or outage is a result too. */
export async function testCredentials(ask: () => Promise<string | null>): Promise<{ ok: boolean; message: string }> {
  try {
    const objection = await ask();
    return { ok: objection === null, message: sentence(objection ?? "the POS accepts the credentials") };
  } catch (error) {
    if (error instanceof PosUnavailable || error instanceof PosRefused)
      return { ok: false, message: sentence(error.message) };
    throw error;
  }
}
