import { z } from "zod";
import { ok, type Ok } from "./endpoint.js";
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
      override: shownAs({ type: "integer", minimum: 1, default: fallback }),
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

type List<Place, Row> = (after: Place | null, limit: number) => Promise<readonly Row[]>;

interface PageRequest<Place> {
  limit: number;
  cursor?: Place | undefined;
}

/**
 * Returns one page of a list, and the headers that lead to the next. `list` is asked for one row more than fits, which
 * shows whether a next page exists; `placeOf` returns a row's sort key.
 */
export async function pageBy<Place, Row>(
  address: string,
  { limit, cursor }: PageRequest<Place>,
  list: List<Place, Row>,
  placeOf: (row: Row) => Place,
): Promise<{ rows: Row[]; headers: Record<string, string> }> {
  const found = await list(cursor ?? null, limit + 1);
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  if (last === undefined || found.length === rows.length) return { rows, headers: {} };
  const { pathname, search } = new URL(address, "http://relative");
  // a URL would be parsed again after each change of its own parameters
  const parameters = new URLSearchParams(search);
  parameters.set("limit", String(limit));
  parameters.set("cursor", Buffer.from(JSON.stringify(placeOf(last))).toString("base64url"));
  return { rows, headers: { Link: `<${pathname}?${parameters.toString()}>; rel="next"` } };
}

/** Returns the response with one page of a list that is ordered by id; `present` makes a row what the caller sees. */
export function page<Place, Row extends { id: Place }>(
  address: string,
  query: PageRequest<Place>,
  list: List<Place, Row>,
): Promise<Ok<Row[]>>;
export function page<Place, Row extends { id: Place }, Shown>(
  address: string,
  query: PageRequest<Place>,
  list: List<Place, Row>,
  present: (row: Row) => Shown,
): Promise<Ok<Shown[]>>;
export async function page<Place, Row extends { id: Place }>(
  address: string,
  query: PageRequest<Place>,
  list: List<Place, Row>,
  present: (row: Row) => unknown = (row) => row,
) {
  const { rows, headers } = await pageBy(address, query, list, ({ id }) => id);
  return ok(rows.map(present), headers);
}
