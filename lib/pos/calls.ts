import { setTimeout as delay } from "node:timers/promises";
import { PosRefused, PosUnavailable } from "./adapter.js";

/** Waits that one pull of a menu can afford. */
const patience = { waits: 3, seconds: 20 };

/** Vendors page through a hundred items at a time; whoever has more pages than this has no end of them. */
const mostPages = 2_000;

/** Asks again while a POS asks for patience, as long as one pull can afford it; what it costs is counted over all calls. */
export function patiently(signal: AbortSignal) {
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

/** A part of a list, and what asks for the next part; nothing does when it is the last. */
export interface Part {
  entries: readonly unknown[];
  next: string | null | undefined;
}

/** Reads a list that comes in parts; throws PosUnavailable when they have no end. */
export async function* inParts(read: (cursor: string | null) => Promise<Part>): AsyncGenerator<readonly unknown[]> {
  const seen = new Set<string>();
  let cursor: string | null = null;
  do {
    const { entries, next }: Part = await read(cursor);
    yield entries;
    cursor = next ?? "";
    if (seen.has(cursor) || seen.size >= mostPages) throw new PosUnavailable("the POS sends pages without end");
    seen.add(cursor);
  } while (cursor !== "");
}

const sentence = (phrase: string) => `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`;

/** What is told of a try to connect: whatever the POS answers is an outcome of it. */
export async function tryOut(ask: () => Promise<string | null>): Promise<{ ok: boolean; message: string }> {
  try {
    const objection = await ask();
    return { ok: objection === null, message: sentence(objection ?? "the POS accepts the credentials") };
  } catch (error) {
    if (error instanceof PosUnavailable || error instanceof PosRefused)
      return { ok: false, message: sentence(error.message) };
    throw error;
  }
}
