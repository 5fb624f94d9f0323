import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { imageAddress, thumbnailAddress } from "../../../lib/storage/file-store.js";
import { limits } from "../../../lib/domain/limits.js";
import { toMajor, type Minor } from "../../../lib/domain/money.js";
import type { BoxItemRow, BoxRow, PartnerBoxRow } from "../../../sql/queries/boxes.js";
import { ImageFileId } from "../../common/own-image.js";
import { Amount, Day, Id, Instant, Money, text, Timestamp } from "../../http/schemas.js";

const maxWindowHours = 48;

export const boxFields = {
  title: text(limits.text.name),
  description: text(limits.text.description),
  price: Amount,
  originalPrice: Amount.meta({ description: "the price before the discount; not below `price`" }),
  quantity: z.int().min(1).max(limits.box.boxes),
  weightGrams: z.int().min(1).max(limits.weightGrams),
  maxPerCustomer: z.int().min(1).max(limits.box.boxes).meta({
    description: "how many one customer may have, in all orders that are open or collected; without it, any number",
  }),
  pickupWindowStart: Instant,
  pickupWindowEnd: Instant.meta({
    description: `after the start, in the future, at most ${maxWindowHours} hours after the start`,
  }),
  imageFileId: ImageFileId,
  items: z
    .array(z.object({ menuItemId: Id, qty: z.int().min(1).max(limits.box.pieces) }))
    .max(limits.box.items)
    .refine(
      (items) => new Set(items.map(({ menuItemId }) => menuItemId)).size === items.length,
      "must name each menu item once",
    ),
  repeat: z
    .object({
      days: z
        .array(z.int().min(1).max(7))
        .min(1)
        .max(7)
        .transform((days) => [...new Set(days)].sort())
        .meta({ description: "days of the week, 1 is Monday", example: [1, 2, 3, 4, 5] }),
      until: Day,
    })
    .meta({ description: "lists the box again on these days through `until`, a day ahead, at the same local time" }),
};

/** The fields of a box that are checked against each other, when it is listed and when it is changed. */
export interface BoxTerms {
  price: Minor;
  originalPrice?: Minor | null | undefined;
  pickupWindowStart: Date;
  pickupWindowEnd: Date;
}

/** Returns what is wrong with a box as a whole, by field. */
export function flawsOf({ price, originalPrice, pickupWindowStart: start, pickupWindowEnd: end }: BoxTerms) {
  const flaws: { path: "originalPrice" | "pickupWindowEnd"; message: string }[] = [];
  if (originalPrice !== undefined && originalPrice !== null && originalPrice < price)
    flaws.push({ path: "originalPrice", message: "must not be below price" });
  if (end <= start) flaws.push({ path: "pickupWindowEnd", message: "must be after pickupWindowStart" });
  else if (end.getTime() - start.getTime() > maxWindowHours * 3_600_000)
    flaws.push({ path: "pickupWindowEnd", message: `must be at most ${maxWindowHours} hours after pickupWindowStart` });
  if (end.getTime() <= Date.now()) flaws.push({ path: "pickupWindowEnd", message: "must be in the future" });
  return flaws;
}

/** Returns the event that a change of a box means for its followers; null without one. */
export function eventOf(
  before: { priceMinor: Minor; quantityAvailable: number },
  after: { priceMinor: Minor; quantityAvailable: number },
): "BOX_BACK" | "BOX_CHEAPER" | null {
  if (after.quantityAvailable === 0) return null;
  if (before.quantityAvailable === 0) return "BOX_BACK";
  return after.priceMinor < before.priceMinor ? "BOX_CHEAPER" : null;
}

export const BoxStatus = z.enum(enums.boxStatus);

export const ListedBox = z
  .object({
    id: Id,
    partnerId: Id,
    title: z.string(),
    description: z.string().nullable(),
    price: Money,
    originalPrice: Money.nullable(),
    weightGrams: z.int().nullable(),
    maxPerCustomer: z.int().nullable().meta({ description: "how many one customer may have; null: any number" }),
    quantityAvailable: z.int(),
    pickupWindowStart: Timestamp,
    pickupWindowEnd: Timestamp,
    status: BoxStatus,
    hidden: z.boolean(),
    imageUrl: z.url().nullable(),
    thumbnailUrl: z.url().nullable(),
  })
  .meta({ id: "ListedBox" });

/** A box as its partner's owner and staff see it in a list. */
export const OwnListedBox = ListedBox.extend({
  repeat: z
    .object({ days: z.array(z.int()), until: z.string() })
    .nullable()
    .optional()
    .meta({ description: "when it is listed again; only for the partner's owner and staff" }),
}).meta({ id: "PartnerBox" });

export const Box = z
  .object({ ...ListedBox.shape, items: z.array(z.object({ menuItemId: Id, name: z.string(), qty: z.int() })) })
  .meta({ id: "Box" });

export const BoxState = z.object({ id: Id, title: z.string(), quantityAvailable: z.int(), status: BoxStatus });

export const presentBox = (row: BoxRow): z.output<typeof ListedBox> => ({
  id: row.id,
  partnerId: row.partnerId,
  title: row.title,
  description: row.description,
  price: toMajor(row.priceMinor),
  originalPrice: row.originalPriceMinor === null ? null : toMajor(row.originalPriceMinor),
  weightGrams: row.weightGrams,
  maxPerCustomer: row.maxPerCustomer,
  quantityAvailable: row.quantityAvailable,
  pickupWindowStart: row.pickupWindowStart,
  pickupWindowEnd: row.pickupWindowEnd,
  status: row.status ?? "EXPIRED",
  hidden: row.hidden,
  imageUrl: row.image && imageAddress(row.image),
  thumbnailUrl: row.image && thumbnailAddress(row.image),
});

export const repeatOf = ({ repeatDays: days, repeatUntil: until }: PartnerBoxRow) =>
  days && until !== null ? { days, until } : null;

export const presentOwnBox = (row: PartnerBoxRow): z.output<typeof OwnListedBox> => ({
  ...presentBox(row),
  repeat: repeatOf(row),
});

export const presentWithItems = (row: BoxRow & { items: BoxItemRow[] | null }): z.output<typeof Box> => ({
  ...presentBox(row),
  items: row.items ?? [],
});
