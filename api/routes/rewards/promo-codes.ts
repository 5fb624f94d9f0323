import { z } from "zod";
import { toMajor } from "../../../lib/domain/money.js";
import { isForeignKeyViolation, sql } from "../../../sql/db.js";
import { applyPromo, insertPromo, listPromos, updatePromoActive } from "../../../sql/queries/promo.js";
import { created, found, ok, section } from "../../http/endpoint.js";
import { page, PageQuery } from "../../http/pagination.js";
import { refusal } from "../../http/refusal.js";
import { invalidFields } from "../../http/refusals.js";
import { invalidPromo, limitGuesses, PromoCode, promoErrors } from "../../common/promo-codes.js";
import { Amount, Id, Instant, Money, orNull, Percent, Timestamp } from "../../http/schemas.js";

export const promo = section({ prefix: "/loyalty/promo", tag: "Loyalty and promo" });

/** Some field names are synonyms; the first that is sent counts. */
const Application = z
  .object({
    code: z.string().max(1_000),
    promoCode: z.string().max(1_000).meta({ description: "synonym of `code`" }),
    orderAmount: Amount,
    amount: Amount.meta({ description: "synonym of `orderAmount`" }),
    totalAmount: Amount.meta({ description: "synonym of `orderAmount`" }),
  })
  .partial()
  .transform(({ code, promoCode, orderAmount, amount, totalAmount }, context) => {
    const named = { code: code ?? promoCode, orderAmount: orderAmount ?? amount ?? totalAmount };
    for (const [path, value] of Object.entries(named)) {
      if (value === undefined) context.addIssue({ code: "custom", path: [path], message: "is missing" });
    }
    return { code: named.code ?? "", amountMinor: named.orderAmount ?? 0 };
  })
  .meta({ example: { code: "AUTUMN-10", orderAmount: 499.8 } });

promo.post(
  "/apply",
  {
    name: "applyPromoCode",
    summary: "Apply a promo code",
    description:
      "Returns the discount for an order of this amount, and applies the code to the next order in place of an earlier one. It is checked " +
      "again when the order is placed. A code that does not apply is refused with 400 `INVALID_PROMO`; the reason is in `error`. " +
      "Too many unknown codes in an hour: 429 `RATE_LIMIT`.",
    auth: "USER",
    body: Application,
    answers: {
      200: z.object({ valid: z.boolean(), discountCents: z.int(), error: z.string().nullable() }),
    },
    errors: promoErrors,
  },
  async ({ user, ip, body: { code: sent, amountMinor } }) => {
    const { data: code } = PromoCode.safeParse(sent);
    if (code === undefined) throw invalidPromo("UNKNOWN");
    const applied = await limitGuesses(
      { userId: user.id, ip },
      () => applyPromo(sql, user.id, code, amountMinor),
      ({ refusal }) => refusal,
    );
    if (applied.refusal !== null) throw invalidPromo(applied.refusal);
    return ok({ valid: true, discountCents: applied.discountMinor, error: null });
  },
);

const Cents = z.int().min(1).max(1_000_000_000);

const NewPromo = z
  .object({
    code: PromoCode,
    discountPercent: orNull(Percent).meta({ description: "of the order's amount; either this or `discountCents`" }),
    discountCents: orNull(Cents).meta({ description: "minor units" }),
    minOrderAmount: Amount.optional(),
    maxDiscountCents: orNull(Cents),
    startsAt: orNull(Instant),
    endsAt: orNull(Instant).meta({ description: "after `startsAt`" }),
    maxUses: orNull(z.int().min(1).max(1_000_000_000)).meta({ description: "by all users together" }),
    maxUsesPerUser: z.int().min(1).max(1_000_000).default(1),
    partnerId: orNull(Id).meta({ description: "only for this partner's orders" }),
  })
  .superRefine(({ discountPercent, discountCents, startsAt, endsAt }, context) => {
    const refuse = (field: string, message: string) => context.addIssue({ code: "custom", path: [field], message });
    if ((discountPercent === null) === (discountCents === null))
      refuse("discountPercent", "give one of discountPercent and discountCents");
    else if (discountPercent === 0) refuse("discountPercent", "must be above 0");
    if (startsAt && endsAt && endsAt <= startsAt) refuse("endsAt", "must be after startsAt");
  })
  .meta({ example: { code: "AUTUMN-10", discountPercent: 10, minOrderAmount: 300, maxUses: 500, maxUsesPerUser: 1 } });

const PromoState = z.object({ id: Id, code: z.string(), active: z.boolean() });

const PromoView = z
  .object({
    ...PromoState.shape,
    discountPercent: z.number().nullable(),
    discountCents: z.int().nullable(),
    minOrderAmount: Money,
    maxDiscountCents: z.int().nullable(),
    startsAt: Timestamp.nullable(),
    endsAt: Timestamp.nullable(),
    maxUses: z.int().nullable(),
    maxUsesPerUser: z.int(),
    partnerId: Id.nullable(),
    uses: z.int().meta({ description: "orders that were not cancelled" }),
  })
  .meta({ id: "Promo" });

const promoExists = refusal(
  409,
  "CONFLICT",
  "PROMO_EXISTS",
  "This promo code exists already.",
  "Choose another code, or enable the one that exists.",
);

export const adminPromo = section({ prefix: "/admin/promo", tag: "Loyalty and promo" });

adminPromo.get(
  "/",
  {
    name: "listPromoCodes",
    summary: "List promo codes and their uses, newest first",
    auth: "ADMIN",
    query: PageQuery,
    answers: { 200: z.array(PromoView) },
  },
  ({ query, address }) =>
    page(
      address,
      query,
      (after, limit) => listPromos(sql, after, limit),
      ({ discountMinor, minOrderMinor, maxDiscountMinor, ...row }) => ({
        ...row,
        discountCents: discountMinor,
        minOrderAmount: toMajor(minOrderMinor),
        maxDiscountCents: maxDiscountMinor,
      }),
    ),
);

adminPromo.post(
  "/create",
  {
    name: "createPromoCode",
    summary: "Create a promo code",
    description: "It is active at once.",
    auth: "ADMIN",
    body: NewPromo,
    answers: { 201: PromoState },
    errors: [promoExists],
  },
  async ({ user, body: { discountCents, minOrderAmount, maxDiscountCents, ...fields } }) => {
    const terms = {
      ...fields,
      discountMinor: discountCents,
      minOrderMinor: minOrderAmount ?? 0,
      maxDiscountMinor: maxDiscountCents,
    };
    const promo = await insertPromo(sql, terms, user.id).catch((error: unknown) => {
      if (!isForeignKeyViolation(error)) throw error;
      throw invalidFields("VALIDATION_ERROR", [{ path: "partnerId", message: "there is no such partner" }]);
    });
    if (!promo) throw promoExists();
    return created(promo);
  },
);

adminPromo.put(
  "/:id/active",
  {
    name: "setPromoCodeActive",
    summary: "Enable or disable a promo code",
    auth: "ADMIN",
    body: z.object({ active: z.boolean() }),
    answers: { 200: z.object({ id: Id, active: z.boolean() }) },
  },
  async ({ user, params, body }) => {
    const { id, active } = found(await updatePromoActive(sql, params.id, body.active, user.id), "This promo code");
    return ok({ id, active });
  },
);
