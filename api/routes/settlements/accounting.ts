import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { toMajor } from "../../../lib/domain/money.js";
import { config } from "../../../lib/process/config.js";
import { sql, transaction } from "../../../sql/db.js";
import {
  findBalance,
  findBooked,
  findLedgerMonths,
  insertManualEntry,
  isOrderOf,
  listCreditors,
  listDebtors,
  listEntries,
  lockLedger,
  wasActive,
  type BalanceRow,
  type EntryRow,
  type ManualEntry,
} from "../../../sql/queries/ledger.js";
import {
  findDraft,
  findStatementOfPartner,
  listStatementsOfMonth,
  listStatementsOfPartner,
} from "../../../sql/queries/statements.js";
import { created, found, ok, section } from "../../http/endpoint.js";
import { Limit, page, pageBy, pageQuery, PageQuery } from "../../http/pagination.js";
import { refusal } from "../../http/refusal.js";
import { invalidFields, notFound } from "../../http/refusals.js";
import { Id, Instant, Money, orNull, text, Timestamp, TotalAmount } from "../../http/schemas.js";
import { answerExtract, extractAnswers, ExtractDays, ofExtracts } from "./extracts.js";
import { DraftView, Month, presentFigures, presentStatement, StatementView } from "./schemas.js";

/** Rows of an export in one response. */
const ExportLimit = Limit(1_000, 5_000);
/** Clocks differ by so much. */
const CLOCK_MS = 5 * 60_000;

const zone = config.DEFAULT_TIMEZONE;

const referenceUsed = refusal(
  409,
  "CONFLICT",
  "REFERENCE_USED",
  "This partner has another entry of this kind under this reference.",
  "Compare with what was booked, and choose another reference.",
);

const BalanceView = z
  .object({
    partnerId: Id,
    partnerName: z.string(),
    owed: Money.meta({ description: "more than 0" }),
    currency: z.string().meta({ example: "RUB" }),
    updatedAt: Timestamp,
  })
  .meta({ id: "PartnerBalance" });

const presentBalance = ({ id, name, balanceMinor, updatedAt }: BalanceRow) => ({
  partnerId: id,
  partnerName: name,
  owed: toMajor(Math.abs(balanceMinor)),
  currency: config.CURRENCY,
  updatedAt,
});

const EntryView = z
  .object({
    id: z.int().meta({ description: "the order of booking", example: 471_100 }),
    transactionId: Id.meta({ description: "its lines add up to zero" }),
    partnerId: Id,
    account: z.enum(enums.ledgerAccount),
    kind: z.enum(enums.ledgerKind),
    amount: Money,
    month: z.string().meta({ description: "of the statement that has it", example: "2026-05" }),
    at: Timestamp.meta({ description: "when it happened" }),
    bookedAt: Timestamp,
    orderId: Id.nullable(),
    reference: z.string().nullable().meta({ example: "PO-2026-118" }),
    reason: z.string().nullable(),
  })
  .meta({ id: "LedgerEntry" });

const presentEntry = ({ amountMinor, month, ...row }: EntryRow): z.output<typeof EntryView> => ({
  ...row,
  amount: toMajor(amountMinor),
  month: month.slice(0, 7),
});

const Booked = z
  .object({
    transactionId: Id,
    balance: Money.meta({ description: "what the platform owes the partner now; negative: the partner owes" }),
  })
  .meta({ id: "BookedEntry" });

const PositiveAmount = TotalAmount.refine((minor) => minor > 0, "must be more than 0");
const Reference = text(100).meta({
  description: "of its own among the partner's of this kind: sent again with the same facts, it is not booked again",
  example: "PO-2026-118",
});

export const settlements = section({ prefix: "/admin/settlements", tag: "Settlements" });

settlements.get(
  "/",
  {
    name: "listBalances",
    summary: "List what is owed between partners and the platform",
    auth: "ADMIN",
    query: PageQuery.extend({
      owing: z.enum(["PARTNER", "PLATFORM"]).default("PARTNER").meta({ description: "who owes" }),
    }),
    answers: { 200: z.array(BalanceView) },
    csv: true,
  },
  ({ query, address }) => {
    const list = query.owing === "PARTNER" ? listDebtors : listCreditors;
    return page(address, query, (after, limit) => list(sql, after, limit), presentBalance);
  },
);

settlements.get(
  "/statements",
  {
    name: "listStatementsOfMonth",
    summary: "List all partners' statements of a month, by number",
    auth: "ADMIN",
    query: pageQuery(z.int()).extend({ month: Month, limit: ExportLimit }),
    answers: { 200: z.array(StatementView) },
    csv: true,
  },
  async ({ query, address }) => {
    const { rows, headers } = await pageBy(
      address,
      query,
      (after, limit) => listStatementsOfMonth(sql, query.month, after ?? 0, limit),
      ({ number }) => number,
    );
    return ok(rows.map(presentStatement), headers);
  },
);

settlements.get(
  "/entries",
  {
    name: "listLedgerEntries",
    summary: "Export the ledger, in the order of booking",
    description: "Lines are never changed. Keep the last `id`, and send it as `after` to get only what is new.",
    auth: "ADMIN",
    query: pageQuery(z.int()).extend({
      limit: ExportLimit,
      after: z
        .string()
        .regex(/^\d{1,15}$/, "must be a whole number")
        .transform(Number)
        .default(0)
        .meta({ description: "the `id` of the last line that is known", example: "471100" }),
    }),
    answers: { 200: z.array(EntryView) },
    csv: true,
  },
  async ({ query, address }) => {
    const { rows, headers } = await pageBy(
      address,
      query,
      (after, limit) => listEntries(sql, after ?? query.after, limit),
      ({ id }) => id,
    );
    return ok(rows.map(presentEntry), headers);
  },
);

settlements.get(
  "/:partnerId/draft",
  {
    name: "draftStatement",
    summary: "Show a partner's statement of a month as it would be made now",
    description: "Writes nothing. 404 when nothing is booked in that month.",
    auth: "ADMIN",
    query: z.object({ month: Month.optional() }),
    answers: { 200: DraftView },
    errors: [notFound],
  },
  async ({ params: { partnerId }, query }) => {
    const month = query.month ?? (await findLedgerMonths(sql, zone)).current;
    const draft = found(await findDraft(sql, partnerId, month, zone), "A statement of this month");
    return ok({ month: month.slice(0, 7), currency: config.CURRENCY, ...presentFigures(draft) });
  },
);

settlements.get(
  "/:partnerId/statements",
  {
    name: "listStatementsOfPartner",
    summary: "List a partner's statements, newest first, extracts too",
    auth: "ADMIN",
    query: PageQuery,
    answers: { 200: z.array(StatementView) },
    csv: true,
  },
  ({ params: { partnerId }, query, address }) => {
    const list = (after: string | null, limit: number) => listStatementsOfPartner(sql, partnerId, after, limit);
    return page(address, query, list, presentStatement);
  },
);

settlements.post(
  "/:partnerId/extracts",
  {
    name: "makeExtractOfPartner",
    summary: "Make an extract: a partner's statement of other days than a month",
    description: `${ofExtracts} Audited. The partner's owner is notified when its document is ready.`,
    auth: "ADMIN",
    body: ExtractDays,
    answers: extractAnswers,
    errors: [notFound],
  },
  async ({ user, params: { partnerId }, body, requestId }) => {
    const find = (id: string) => findStatementOfPartner(sql, id, partnerId);
    return answerExtract(partnerId, body, { user, requestId }, "ADMIN", find);
  },
);

/** Books an entry once: 201, or 200 when the same one was booked before. */
async function book(entry: ManualEntry, actorId: string) {
  const { partnerId, amountMinor, at, reason, orderId } = entry;
  if (!(await wasActive(sql, partnerId))) throw notFound("This partner");
  return transaction(async (tx) => {
    await lockLedger(tx);
    const before = await findBooked(tx, entry);
    if (before) {
      const isSame =
        before.amountMinor === amountMinor &&
        before.reason === reason &&
        before.orderId === orderId &&
        // that of a correction is when it was sent
        (entry.kind === "CORRECTION" || before.at.getTime() === at.getTime());
      if (!isSame) throw referenceUsed();
      return ok({ transactionId: before.transactionId, balance: toMajor(await findBalance(tx, partnerId)) });
    }
    const transactionId = await insertManualEntry(tx, entry, actorId, zone);
    return created({ transactionId, balance: toMajor(await findBalance(tx, partnerId)) });
  });
}

settlements.post(
  "/:partnerId/payouts",
  {
    name: "recordPayout",
    summary: "Record that a partner and the platform have settled an amount",
    description: "Money moves outside of this service. Audited. 200: the same payment was recorded before.",
    auth: "ADMIN",
    body: z.object({
      amount: PositiveAmount,
      paidBy: z.enum(["PARTNER", "PLATFORM"]),
      paidAt: Instant.meta({ description: "not in the future" }),
      reference: Reference,
    }),
    answers: { 200: Booked, 201: Booked },
    errors: [notFound, referenceUsed],
  },
  async ({ user, params: { partnerId }, body: { amount, paidBy, paidAt, reference } }) => {
    if (paidAt.getTime() > Date.now() + CLOCK_MS)
      throw invalidFields("VALIDATION_ERROR", [{ path: "paidAt", message: "must not be in the future" }]);
    const amountMinor = paidBy === "PARTNER" ? amount : -amount;
    return book(
      { partnerId, kind: "PAYOUT", amountMinor, at: paidAt, reference, reason: null, orderId: null },
      user.id,
    );
  },
);

settlements.post(
  "/:partnerId/corrections",
  {
    name: "correctBalance",
    summary: "Correct what a partner and the platform owe each other",
    description:
      "The statement of the present month will have it, with the reason, which the partner reads. Audited. 200: the same correction was made before.",
    auth: "ADMIN",
    body: z.object({
      amount: PositiveAmount,
      inFavourOf: z.enum(["PARTNER", "PLATFORM"]),
      reference: Reference,
      reason: text(500),
      orderId: orNull(Id.nullable()).meta({ description: "the partner's order that it is about" }),
    }),
    answers: { 200: Booked, 201: Booked },
    errors: [notFound, referenceUsed],
  },
  async ({ user, params: { partnerId }, body: { amount, inFavourOf, reference, reason, orderId } }) => {
    if (orderId !== null && !(await isOrderOf(sql, orderId, partnerId))) throw notFound("This order");
    const amountMinor = inFavourOf === "PARTNER" ? amount : -amount;
    return book({ partnerId, kind: "CORRECTION", amountMinor, at: new Date(), reference, reason, orderId }, user.id);
  },
);
