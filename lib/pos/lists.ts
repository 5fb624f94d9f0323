import { setImmediate as othersTurn } from "node:timers/promises";
import { z } from "zod";

/** Entries of a list that are read in one go. */
const batch = 1_000;

/** What a POS may send in one list: more than our menu takes, so that the answer to a long menu is that it is too long. */
export const mostEntries = 200_000;

/** Parts that one thing may have, such as the sizes of a pizza or the places where it is sold. */
const mostParts = 10_000;

/** A list that is read only where it is not too long. */
export const listUpTo = <T>(most: number, entry: z.ZodType<T>, least = 0) =>
  z.array(z.unknown()).min(least).max(most).pipe(z.array(entry));

/** The parts of one thing. */
export const partsOf = <T>(part: z.ZodType<T>) => listUpTo(mostParts, part);

/** A list whose entries are read one by one. */
export const Entries = z.array(z.unknown()).max(mostEntries);

/** Such a list, which may be missing. */
export const MaybeEntries = Entries.nullish().transform((list) => list ?? []);

/** The parts of one thing, which may be missing and are read one by one. */
export const MaybeParts = z
  .array(z.unknown())
  .max(mostParts)
  .nullish()
  .transform((list) => list ?? []);

/** Goes through a list in batches, the first of which may be empty; whoever shares the process has a turn between them. */
export async function* inBatches<T>(list: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let start = 0; start === 0 || start < list.length; start += batch) {
    if (start > 0) await othersTurn();
    yield list.slice(start, start + batch);
  }
}
