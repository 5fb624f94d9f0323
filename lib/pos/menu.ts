import { z } from "zod";
import { describeIssue } from "../process/input-errors.js";
import { limits } from "../domain/limits.js";
import { toMinor, type Minor } from "../domain/money.js";
import { PosUnavailable, type MenuPage, type PosMenuItem, type RejectedItem } from "./adapter.js";
import { inBatches } from "./lists.js";

/** Where items go that the POS puts in no category. */
const defaultCategory = "Menu";

/** An item as a vendor describes it, before it is known to fit our menu; `priceMinor` is null where there is none. */
export interface Draft {
  externalId: string;
  name: string;
  category?: string | null | undefined;
  priceMinor: Minor | null;
  description?: string | null | undefined;
  weightGrams?: number | null | undefined;
  available: boolean | null;
}

/** An item, or all of a thing that might have been several, that is known to fit nowhere. */
export interface Misfit {
  externalId: string | null;
  reason: string;
}

export type Candidate = Draft | Misfit;

/** An id that some vendors send as a number. */
export const IdText = z
  .union([z.string().min(1), z.int()], {
    error: ({ input }) => (input === undefined ? "is missing" : "must be text or a whole number"),
  })
  .transform(String);

/** Text that may be missing in any way. */
export const MaybeText = z.string().nullish().catch(null);

/** Text as our menu can keep it: valid, not too long, and not cut within a character. */
const fit = (text: string | null | undefined, length: number): string =>
  (text ?? "")
    .replaceAll("\u0000", "")
    .toWellFormed()
    .trim()
    .slice(0, length)
    .replace(/[\ud800-\udbff]$/, "")
    .trim();

/** Major units that a vendor keeps as a double: noise in the last digits is none of the price; null for what is no price. */
export function minorOfDouble(major: number): Minor | null {
  const rounded = Number(major.toFixed(2));
  return Math.abs(rounded - major) < 1e-6 ? toMinor(rounded) : null;
}

/** What is wrong with a thing, by the names of its fields and what was wanted of them, without its values. */
function flawOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, 3)
    .map(({ path, message }) => (path.length > 0 ? `its ${path.map(String).join(".")} ${message}` : `it ${message}`))
    .join(", ");
}

/**
 * Reads one thing that a vendor sent, or says what is wrong with it: of each item that it would have been, as `ids` finds
 * them in it, or of one that nobody can name.
 */
export function readOne<T>(
  schema: z.ZodType<T>,
  ids: z.ZodType<readonly string[]>,
  sent: unknown,
  use: (read: T) => readonly Candidate[],
): readonly Candidate[] {
  const read = schema.safeParse(sent, { error: describeIssue });
  if (read.success) return use(read.data);
  const reason = flawOf(read.error);
  const [first, ...others] = ids.safeParse(sent).data ?? [];
  if (first === undefined) return [{ externalId: null, reason }];
  return [first, ...others].map((externalId) => ({ externalId, reason }));
}

/** Reads a whole answer; throws PosUnavailable when it is of another form than the vendor documents. */
export function readAnswer<T>(schema: z.ZodType<T>, sent: unknown): T {
  const read = schema.safeParse(sent);
  if (!read.success) throw new PosUnavailable("the POS answers in another form than it documents");
  return read.data;
}

function reasonAgainst({ externalId, name, priceMinor }: Draft, seen: ReadonlySet<string>): string | null {
  if (externalId.length > limits.text.externalId) return "its id is too long";
  if (externalId.includes("\u0000") || !externalId.isWellFormed() || externalId.trim() !== externalId)
    return "its id is not valid text";
  if (seen.has(externalId)) return "another item has the same id";
  if (fit(name, limits.text.name) === "") return "it has no name";
  if (priceMinor === null) return "it has no price that can be paid";
  if (priceMinor > limits.priceMinor) return "its price is too high";
  return null;
}

function fitted({ externalId, name, category, priceMinor, description, weightGrams, available }: Draft): PosMenuItem {
  const grams = Math.round(weightGrams ?? 0);
  return {
    externalId,
    name: fit(name, limits.text.name),
    category: fit(category, limits.text.category) || defaultCategory,
    priceMinor: priceMinor ?? 0,
    description: fit(description, limits.text.description) || null,
    weightGrams: grams >= 1 && grams <= limits.weightGrams ? grams : null,
    available,
  };
}

/**
 * Sorts the entries that one pull brings into what our menu can keep and what it cannot, page by page; of two items with one id
 * it keeps the first. `candidatesOf` reads the items that an entry stands for, and `Name` what the vendor calls it, also where
 * other things are wrong with it.
 */
export function menuPages(candidatesOf: (sent: unknown) => readonly Candidate[], Name: z.ZodType<string>) {
  const seen = new Set<string>();
  let position = 0;

  function sort(part: readonly unknown[]): MenuPage {
    const items: PosMenuItem[] = [];
    const rejected: RejectedItem[] = [];
    const reject = ({ externalId, reason }: Misfit, name: string | undefined) =>
      rejected.push({
        externalId: fit(externalId, limits.text.externalId) || null,
        name: fit(name, limits.text.name) || null,
        position,
        reason,
      });
    for (const sent of part) {
      position += 1;
      for (const candidate of candidatesOf(sent)) {
        if ("reason" in candidate) {
          reject(candidate, Name.safeParse(sent).data);
          continue;
        }
        const reason = reasonAgainst(candidate, seen);
        if (reason === null) {
          items.push(fitted(candidate));
          seen.add(candidate.externalId);
        } else reject({ externalId: candidate.externalId, reason }, candidate.name);
      }
    }
    return { items, rejected };
  }

  return async function* pages(entries: readonly unknown[]): AsyncGenerator<MenuPage> {
    for await (const part of inBatches(entries)) yield sort(part);
  };
}
