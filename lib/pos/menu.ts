import { z } from "zod";
import { toMinor, type Minor } from "../money.js";
import { PosUnavailable, type MenuPage, type PosMenuItem, type RejectedItem } from "./adapter.js";

const most = {
  externalId: 200,
  name: 200,
  category: 100,
  description: 2_000,
  priceMinor: 1_000_000_000,
  grams: 1_000_000,
};

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
  available: boolean;
}

export type Candidate = Draft | RejectedItem;

/** An id that some vendors send as a number. */
export const IdText = z.union([z.string().min(1), z.int()]).transform(String);

/** Text that may be missing in any way. */
export const MaybeText = z.string().nullish().catch(null);

/** A list that may be missing; its entries are read one by one. */
export const MaybeList = z
  .array(z.unknown())
  .nullish()
  .transform((list) => list ?? []);

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

/** What is wrong with a thing, by the names of its fields and without its values. */
function flawOf({ issues }: z.ZodError): string {
  const [field] = issues[0]?.path ?? [];
  return typeof field === "string" ? `its ${field} is not what it should be` : "it is no item at all";
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
  const read = schema.safeParse(sent);
  if (read.success) return use(read.data);
  const reason = flawOf(read.error);
  const [first, ...others] = ids.safeParse(sent).data ?? [];
  if (first === undefined) return [{ externalId: null, reason }];
  return [first, ...others].map((id) => ({ externalId: fit(id, most.externalId) || null, reason }));
}

/** Reads a whole answer; throws PosUnavailable when it is of another form than the vendor documents. */
export function readAnswer<T>(schema: z.ZodType<T>, sent: unknown): T {
  const read = schema.safeParse(sent);
  if (!read.success) throw new PosUnavailable("the POS answers in another form than it documents");
  return read.data;
}

function reasonAgainst({ externalId, name, priceMinor }: Draft, seen: ReadonlySet<string>): string | null {
  if (externalId.length > most.externalId) return "its id is too long";
  if (externalId.includes("\u0000") || !externalId.isWellFormed() || externalId.trim() !== externalId)
    return "its id is not valid text";
  if (seen.has(externalId)) return "another item has the same id";
  if (fit(name, most.name) === "") return "it has no name";
  if (priceMinor === null) return "it has no price that can be paid";
  if (priceMinor > most.priceMinor) return "its price is too high";
  return null;
}

function fitted({ externalId, name, category, priceMinor, description, weightGrams, available }: Draft): PosMenuItem {
  const grams = Math.round(weightGrams ?? 0);
  return {
    externalId,
    name: fit(name, most.name),
    category: fit(category, most.category) || defaultCategory,
    priceMinor: priceMinor ?? 0,
    description: fit(description, most.description) || null,
    weightGrams: grams >= 1 && grams <= most.grams ? grams : null,
    available,
  };
}

/** Sorts what one pull brings, page by page, into what our menu can keep and what it cannot; of two with one id it keeps the first. */
export function menuPages(): (candidates: Iterable<Candidate>) => MenuPage {
  const seen = new Set<string>();
  return (candidates) => {
    const items: PosMenuItem[] = [];
    const rejected: RejectedItem[] = [];
    for (const candidate of candidates) {
      if ("reason" in candidate) {
        rejected.push(candidate);
        continue;
      }
      const reason = reasonAgainst(candidate, seen);
      if (reason === null) {
        items.push(fitted(candidate));
        seen.add(candidate.externalId);
      } else rejected.push({ externalId: fit(candidate.externalId, most.externalId) || null, reason });
    }
    return { items, rejected };
  };
}
