import { z } from "zod";
import { Id, shownAs } from "./schemas.js";

const defaultLimit = 50;
const maxLimit = 200;

const decode = (cursor: string) => Buffer.from(cursor, "base64url").toString();
const encode = (id: string) => Buffer.from(id).toString("base64url");

/** How many to list: `fallback` unless the caller says so, and never more than `most`, which more is taken for. */
export const Limit = (fallback: number, most: number) =>
  z
    .string()
    .regex(/^0*[1-9]\d*$/, "must be a positive integer")
    .transform((digits) => Math.min(Number(digits), most))
    .default(fallback)
    .meta({
      description: `at most ${most}; more is taken for ${most}`,
      override: shownAs({ type: "integer", minimum: 1 }),
    });

/** A `cursor` is only ever taken from a previous answer's `Link` header. */
export const PageQuery = z.object({
  limit: Limit(defaultLimit, maxLimit),
  cursor: z
    .string()
    .max(500)
    .transform(decode)
    .refine((id) => Id.safeParse(id).success, "is not one that this service gave out")
    .optional()
    .meta({ description: "opaque; from the `Link` header of the page before" }),
});

/**
 * One page of a list that is ordered by id, and the headers that lead to the next one. `list` is asked for one row more
 * than fits, so that the last page is known to be the last.
 */
export async function page<Row extends { id: string }>(
  address: string,
  { limit, cursor }: z.output<typeof PageQuery>,
  list: (after: string | null, limit: number) => Promise<readonly Row[]>,
): Promise<{ rows: Row[]; headers: Record<string, string> }> {
  const found = await list(cursor ?? null, limit + 1);
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  if (last === undefined || found.length === rows.length) return { rows, headers: {} };
  const next = new URL(address, "http://relative");
  next.searchParams.set("limit", String(limit));
  next.searchParams.set("cursor", encode(last.id));
  return { rows, headers: { Link: `<${next.pathname}${next.search}>; rel="next"` } };
}
