import { z } from "zod";
import { ApiError } from "../lib/errors.js";
import { Id } from "./schemas.js";

const defaultLimit = 50;
const maxLimit = 200;

/** `limit` is clamped to its maximum; a `cursor` is only ever taken from a previous answer's `Link` header. */
export const PageQuery = z.object({
  limit: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, "must be a positive integer")
    .transform((digits) => Math.min(Number(digits), maxLimit))
    .default(defaultLimit)
    .meta({ description: `at most ${maxLimit}`, override: { type: "integer", minimum: 1 } }),
  cursor: z.string().max(500).optional().meta({ description: "opaque; from the `Link` header of the page before" }),
});

export type Page = z.output<typeof PageQuery>;

/** Where a list that is ordered by id goes on: the last id of the page before, or null on the first page. */
export function afterId(page: Page): string | null {
  if (page.cursor === undefined) return null;
  const id = Id.safeParse(Buffer.from(page.cursor, "base64url").toString());
  if (!id.success) throw new ApiError(400, "BAD_REQUEST", "cursor is not one that this service gave out.");
  return id.data;
}

/** The headers of a page of a list ordered by id: the next page's address, when this one is full. */
export function nextPage(address: string, page: Page, rows: readonly { id: string }[]): Record<string, string> {
  const last = rows.at(-1);
  if (last === undefined || rows.length < page.limit) return {};
  const next = new URL(address, "http://relative");
  next.searchParams.set("limit", String(page.limit));
  next.searchParams.set("cursor", Buffer.from(last.id).toString("base64url"));
  return { Link: `<${next.pathname}${next.search}>; rel="next"` };
}
