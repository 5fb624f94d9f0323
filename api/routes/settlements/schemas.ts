import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { toMajor } from "../../../lib/domain/money.js";
import { formatWait } from "../../../lib/outbound/retry-after.js";
import { DOCUMENT_SECONDS, documentAddress } from "../../../lib/storage/file-store.js";
import type { StatementFigures, StatementLineRow, StatementRow } from "../../../sql/queries/statements.js";
import { Id, Money, shownAs, Timestamp } from "../../http/schemas.js";

/** A month as callers send it, `2026-05`; parsed to its first day. */
export const Month = z
  .string()
  .regex(/^20\d\d-(0[1-9]|1[0-2])$/, "must be a month such as 2026-05")
  .transform((month) => `${month}-01`)
  .meta({
    description: "in the deployment's time zone",
    override: shownAs({ type: "string", pattern: String.raw`^20\d\d-(0[1-9]|1[0-2])$`, example: "2026-05" }),
  });

const DayView = z.string().meta({ description: "in the deployment's time zone", example: "2026-05-10" });
const MonthView = z.string().meta({ description: "in the deployment's time zone", example: "2026-05" });

const figures = {
  orders: z.int().meta({ description: "handed over on these days" }),
  sales: Money.meta({ description: "their price, before discounts" }),
  paidAtPickup: Money.meta({ description: "what customers paid the partner" }),
  ownDiscounts: Money.meta({ description: "by promo codes that hold only at this partner, which pays for them" }),
  platformDiscounts: Money.meta({ description: "by other promo codes: the platform owes them to the partner" }),
  commission: Money.meta({ description: "what the partner owes for the orders" }),
  earlier: Money.meta({
    description:
      "by how much orders of earlier months, booked too late for theirs, change the balance; 0 on an extract",
  }),
  corrections: Money,
  payments: Money.meta({ description: "of the platform to the partner are negative: they lower what it owes" }),
  openingBalance: Money.meta({ description: "what the platform owed the partner; negative: the partner owed" }),
  closingBalance: Money.meta({
    description: "opening balance + platform discounts − commission + earlier + corrections + payments",
  }),
};

export const DraftView = z
  .object({ month: MonthView, currency: z.string().meta({ example: "RUB" }), ...figures })
  .meta({ id: "StatementDraft" });

export const StatementView = z
  .object({
    id: Id,
    kind: z.enum(["MONTH", "EXTRACT"]).meta({
      description:
        "MONTH: what was booked for a month; EXTRACT: what happened on other days, as it was known at `createdAt`",
    }),
    number: z.int().meta({ description: "without gaps among those of its kind", example: 4_711 }),
    partnerId: Id,
    partnerName: z.string(),
    month: MonthView.nullable().meta({ description: "null: an extract" }),
    firstDay: DayView,
    lastDay: DayView,
    currency: z.string().meta({ example: "RUB" }),
    ...figures,
    createdAt: Timestamp,
    pdfUrl: z
      .url()
      .nullable()
      .meta({
        description: `the document, valid for ${formatWait(DOCUMENT_SECONDS)}: read the statement again for a new address; null until it is made, which takes minutes at most`,
      }),
  })
  .meta({ id: "Statement" });

export const presentFigures = (row: StatementFigures) => ({
  orders: row.orders,
  sales: toMajor(row.salesMinor),
  paidAtPickup: toMajor(row.tillMinor),
  ownDiscounts: toMajor(row.ownPromoMinor),
  platformDiscounts: toMajor(row.platformPromoMinor),
  commission: toMajor(row.commissionMinor),
  earlier: toMajor(row.earlierMinor),
  corrections: toMajor(row.correctionsMinor),
  payments: toMajor(row.payoutsMinor),
  openingBalance: toMajor(row.openingMinor),
  closingBalance: toMajor(row.closingMinor),
});

export const presentStatement = (row: StatementRow): z.output<typeof StatementView> => ({
  id: row.id,
  kind: row.month === null ? "EXTRACT" : "MONTH",
  number: row.number,
  partnerId: row.partnerId,
  partnerName: row.partner,
  month: row.month?.slice(0, 7) ?? null,
  firstDay: row.firstDay,
  lastDay: row.lastDay,
  currency: row.currency,
  ...presentFigures(row),
  createdAt: row.createdAt,
  pdfUrl: row.file === null ? null : documentAddress(row.file),
});

export const LineView = z
  .object({
    id: z.int().meta({ example: 471_100 }),
    kind: z.enum(enums.ledgerKind).meta({ description: "SALE, CORRECTION or PAYOUT" }),
    at: Timestamp.meta({ description: "when the order was handed over, or the money was paid" }),
    orderId: Id.nullable(),
    reference: z.string().nullable().meta({ description: "of a payment or correction", example: "PO-2026-118" }),
    reason: z.string().nullable().meta({ description: "of a correction" }),
    sales: Money,
    paidAtPickup: Money,
    ownDiscounts: Money,
    platformDiscounts: Money,
    commission: Money,
    balance: Money.meta({ description: "by how much it changes what the platform owes" }),
  })
  .meta({ id: "StatementLine" });

export const presentLine = (row: StatementLineRow): z.output<typeof LineView> => ({
  id: row.id,
  kind: row.kind,
  at: row.at,
  orderId: row.orderId,
  reference: row.reference,
  reason: row.reason,
  sales: toMajor(row.salesMinor ?? 0),
  paidAtPickup: toMajor(row.tillMinor ?? 0),
  ownDiscounts: toMajor(row.ownPromoMinor ?? 0),
  platformDiscounts: toMajor(row.platformPromoMinor ?? 0),
  commission: toMajor(row.commissionMinor ?? 0),
  balance: toMajor(row.balanceMinor ?? 0),
});
