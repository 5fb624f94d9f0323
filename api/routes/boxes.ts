import { z } from "zod";
import { ApiError, notFound } from "../../lib/errors.js";
import { toMajor } from "../../lib/money.js";
import { lookups, sql } from "../../sql/db.js";
import { findBox, insertBox, listBoxesByPartner, type BoxRow } from "../../sql/queries/boxes.js";
import { findPartner } from "../../sql/queries/partners.js";
import { findPrincipal } from "../../sql/queries/users.js";
import { created, ok, section } from "../endpoint.js";
import { page, PageQuery } from "../pagination.js";
import { Amount, Id, IdParams, Instant, Money, QueryFlag, text, Timestamp } from "../schemas.js";

const maxWindowMs = 48 * 60 * 60 * 1_000;

const NewBox = z
  .object({
    title: text(200),
    description: text(2_000).optional(),
    price: Amount,
    originalPrice: Amount.optional().meta({ description: "what the contents cost undiscounted; not below `price`" }),
    quantity: z.int().min(1).max(10_000),
    weightGrams: z.int().min(1).max(1_000_000).optional(),
    pickupWindowStart: Instant,
    pickupWindowEnd: Instant.meta({ description: "after the start, in the future, at most 48 hours after the start" }),
    items: z
      .array(z.object({ menuItemId: Id, qty: z.int().min(1).max(100) }))
      .max(50)
      .refine(
        (items) => new Set(items.map(({ menuItemId }) => menuItemId.toLowerCase())).size === items.length,
        "must name each menu item once",
      )
      .optional(),
  })
  .superRefine(({ price, originalPrice, pickupWindowStart: start, pickupWindowEnd: end }, context) => {
    const refuse = (field: string, message: string) => context.addIssue({ code: "custom", path: [field], message });
    if (originalPrice !== undefined && originalPrice < price) refuse("originalPrice", "must not be below price");
    if (end <= start) refuse("pickupWindowEnd", "must be after pickupWindowStart");
    else if (end.getTime() - start.getTime() > maxWindowMs)
      refuse("pickupWindowEnd", "must be at most 48 hours after pickupWindowStart");
    if (end.getTime() <= Date.now()) refuse("pickupWindowEnd", "must be in the future");
  });

const BoxStatus = z.enum(["ACTIVE", "SOLD_OUT", "EXPIRED"]);

const ListedBox = z
  .object({
    id: Id,
    partnerId: Id,
    title: z.string(),
    description: z.string().nullable(),
    price: Money,
    originalPrice: Money.nullable(),
    weightGrams: z.int().nullable(),
    quantityAvailable: z.int(),
    pickupWindowStart: Timestamp,
    pickupWindowEnd: Timestamp,
    status: BoxStatus,
    hidden: z.boolean(),
  })
  .meta({ id: "ListedBox" });

const Box = z
  .object({ ...ListedBox.shape, items: z.array(z.object({ menuItemId: Id, name: z.string(), qty: z.int() })) })
  .meta({ id: "Box" });

const present = (row: BoxRow): z.output<typeof ListedBox> => ({
  id: row.id,
  partnerId: row.partnerId,
  title: row.title,
  description: row.description,
  price: toMajor(row.priceMinor),
  originalPrice: row.originalPriceMinor === null ? null : toMajor(row.originalPriceMinor),
  weightGrams: row.weightGrams,
  quantityAvailable: row.quantityAvailable,
  pickupWindowStart: row.pickupWindowStart.toISOString(),
  pickupWindowEnd: row.pickupWindowEnd.toISOString(),
  status: row.status ?? "EXPIRED",
  hidden: row.hidden,
});

export const boxes = section({ prefix: "/boxes", tag: "Boxes" });

boxes.get(
  "/by-partner/:partnerId",
  {
    summary: "List a partner's boxes, newest first",
    description: "What is on offer. The partner's own people add `all=true` to see hidden and expired boxes too.",
    auth: "OPTIONAL_USER",
    params: z.object({ partnerId: Id }),
    query: PageQuery.extend({ all: QueryFlag.default(false) }),
    answers: { 200: z.array(ListedBox) },
  },
  async ({ user, params, query, address }) => {
    const own =
      query.all && user !== null && (await findPrincipal(sql, user.id))?.partnerId === params.partnerId.toLowerCase();
    const { rows, headers } = await page(address, query, (after, limit) =>
      listBoxesByPartner(sql, params.partnerId, own, after, limit),
    );
    if (rows.length === 0 && !(await findPartner(sql, params.partnerId))) throw notFound("This partner");
    return ok(rows.map(present), headers);
  },
);

boxes.get(
  "/:id",
  { summary: "Read a box", auth: "ANYONE", params: IdParams, answers: { 200: Box } },
  async ({ params }) => {
    const box = await findBox(lookups, params.id);
    if (!box) throw notFound("This box");
    return ok({ ...present(box), items: box.items ?? [] });
  },
);

boxes.post(
  "/",
  {
    summary: "List a box",
    auth: "ACTIVE_PARTNER",
    body: NewBox,
    answers: { 201: z.object({ id: Id, title: z.string(), quantityAvailable: z.int(), status: BoxStatus }) },
  },
  async ({ partner, body }) => {
    const box = await insertBox(sql, partner.id, {
      title: body.title,
      description: body.description ?? null,
      priceMinor: body.price,
      originalPriceMinor: body.originalPrice ?? null,
      weightGrams: body.weightGrams ?? null,
      quantity: body.quantity,
      pickupWindowStart: body.pickupWindowStart,
      pickupWindowEnd: body.pickupWindowEnd,
      items: body.items ?? [],
    });
    if (!box) {
      throw new ApiError(400, "VALIDATION_ERROR", "items: some are not on this partner's menu.", {
        errors: [{ path: "items", message: "some are not on this partner's menu" }],
      });
    }
    return created(box, `/api/v1/boxes/${box.id}`);
  },
);
