import { z } from "zod";
import { Id, shownAs } from "./schemas.js";

const defaultLimit = 50;
const maxLimit = 200;

/** The size of a page: `fallback` by default; a value above `most` is lowered to it. */
export const Limit = (fallback: number, most: number) =>
  z
    .string()
    .regex(/^0*[1-9]\d*$/, "must be a positive integer")
    .transform((digits) => Math.min(Number(digits), most))
    .default(fallback)
    .meta({
      description: `at most ${most}; a larger value counts as ${most}`,
      override: shownAs({ type: "integer", minimum: 1 }),
    });

/** A place in a list: the sort key of the last row before it. */
const cursor = <P extends z.ZodType>(position: P) =>
  z
    .string()
    .max(500)
    .transform((sent, context): z.output<P> => {
      try {
        return position.parse(JSON.parse(Buffer.from(sent, "base64url").toString()));
      } catch {
        context.addIssue({ code: "custom", message: "was not issued by this service" });
        return z.NEVER;
      }
    })
    .optional()
    .meta({
      description: "opaque; from the `Link` header of the previous page",
      override: shownAs({ type: "string" }),
    });

/** The parameters of a list whose sort key is `position`. */
export const pageQuery = <P extends z.ZodType>(position: P) =>
  z.object({ limit: Limit(defaultLimit, maxLimit), cursor: cursor(position) });

/** The parameters of a list that is ordered by id. */
export const PageQuery = pageQuery(Id);

/**
 * Returns one page of a list, and the headers that lead to the next. `list` is asked for one row more than fits, which
 * shows whether a next page exists; `placeOf` returns a row's sort key.
 */
export async function pageBy<Row, Place>(
  address: string,
  { limit, cursor }: { limit: number; cursor?: Place | undefined },
  list: (after: Place | null, limit: number) => Promise<readonly Row[]>,
  placeOf: (row: Row) => Place,
): Promise<{ rows: Row[]; headers: Record<string, string> }> {
  const found = await list(cursor ?? null, limit + 1);
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  if (last === undefined || found.length === rows.length) return { rows, headers: {} };
  const next = new URL(address, "http://relative");
  next.searchParams.set("limit", String(limit));
  next.searchParams.set("cursor", Buffer.from(JSON.stringify(placeOf(last))).toString("base64url"));
  return { rows, headers: { Link: `<${next.pathname}${next.search}>; rel="next"` } };
}

/** Returns one page of a list that is ordered by id. */
export const page = <Row extends { id: string }>(
  address: string,
  query: { limit: number; cursor?: string | undefined },
  list: (after: string | null, limit: number) => Promise<readonly Row[]>,
) => pageBy(address, query, list, ({ id }) => id);
