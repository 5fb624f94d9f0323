import { z } from "zod";
import { parseDescribed } from "../process/input-errors.js";
import { limits } from "../domain/limits.js";
import { toMinor, type Minor } from "../domain/money.js";
import { PosUnavailable, type MenuPage, type PosMenuItem, type RejectedItem } from "./adapter.js";
import { inBatches } from "./lists.js";

/** The category of items that have none in the POS. */
const defaultCategory = "Menu";

/** An item of a vendor before it is checked; `priceMinor` is null when it has no price. */
export interface Draft {
  externalId: string;
  name: string;
  category?: string | null | undefined;
  priceMinor: Minor | null;
  description?: string | null | undefined;
  weightGrams?: number | null | undefined;
  available: boolean | null;
}

/** An item that cannot be imported. Without an id it may stand for several. */
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

/** Text that may be missing or malformed; null then. */
export const MaybeText = z.string().nullish().catch(null);

/** Returns text as the menu can hold it: valid, not too long, and not cut within a character. */
function fit(text: string | null | undefined, length: number): string {
  if (!text) return "";
  const whole = text.replaceAll("\u0000", "").toWellFormed().trim();
  if (whole.length <= length) return whole;
  return whole
    .slice(0, length)
    .replace(/[\ud800-\udbff]$/, "")
    .trim();
}

/** Converts major units that a vendor keeps as a double, ignoring noise in the last digits; null when it is not a price. */
export function minorOfDouble(major: number): Minor | null {
  const rounded = Number(major.toFixed(2));
  return Math.abs(rounded - major) < 1e-6 ? toMinor(rounded) : null;
}

/** Describes what is wrong with an entry: its fields and what they must be, without values. */
function flawOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, 3)
    .map(({ path, message }) => (path.length > 0 ? `its ${path.map(String).join(".")} ${message}` : `it ${message}`))
    .join(", ");
}

/**
 * Parses one entry of a vendor's list. A malformed entry becomes a misfit for each id that `ids` finds in it, or one without
 * an id.
 */
export function readOne<T>(
  schema: z.ZodType<T>,
  ids: z.ZodType<readonly string[]>,
  sent: unknown,
  use: (read: T) => readonly Candidate[],
): readonly Candidate[] {
  const read = parseDescribed(schema, sent);
  if (read.success) return use(read.data);
  const reason = flawOf(read.error);
  const [first, ...others] = ids.safeParse(sent).data ?? [];
  if (first === undefined) return [{ externalId: null, reason }];
  return [first, ...others].map((externalId) => ({ externalId, reason }));
}

/** Parses a response; throws PosUnavailable when it is not as the vendor documents. */
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
 * Sorts the entries of one pull into items and rejected items, page by page; of two items with one id it keeps the first.
 * `candidatesOf` parses the items of an entry, and `Name` its name, even when the entry is malformed.
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
