import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { z } from "zod";

/** Entries of a list that are processed without a pause. */
const batch = 1_000;

/** The most entries in one list: more than a menu may have, so that a long menu is refused as too long, not as malformed. */
export const mostEntries = 200_000;

/** The most parts of one entry, such as the sizes of a pizza or the places where it is sold. */
const mostParts = 10_000;

/** A list whose length is checked before its entries. */
export const listUpTo = <T>(most: number, entry: z.ZodType<T>, least = 0) =>
  z.array(z.unknown()).min(least).max(most).pipe(z.array(entry));

/** The parts of one entry. */
export const partsOf = <T>(part: z.ZodType<T>) => listUpTo(mostParts, part);

/** A list whose entries are read one by one. */
export const Entries = z.array(z.unknown()).max(mostEntries);

/** As `Entries`, but may be missing. */
export const MaybeEntries = Entries.nullish().transform((list) => list ?? []);

/** The parts of one entry, which may be missing and are read one by one. */
export const MaybeParts = z
  .array(z.unknown())
  .max(mostParts)
  .nullish()
  .transform((list) => list ?? []);

/** Iterates over a list in batches, the first of which may be empty, and yields to the event loop between them. */
export async function* inBatches<T>(list: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let start = 0; start === 0 || start < list.length; start += batch) {
    if (start > 0) await yieldToEventLoop();
    yield list.slice(start, start + batch);
  }
}

/** Returns the valid entries of a list. */
export async function validOf<T>(entry: z.ZodType<T>, list: readonly unknown[]): Promise<T[]> {
  const valid: T[] = [];
  for await (const part of inBatches(list))
    for (const sent of part) {
      const read = entry.safeParse(sent);
      if (read.success) valid.push(read.data);
    }
  return valid;
}
