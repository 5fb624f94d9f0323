import { z } from "zod";
import { ApiError } from "../../lib/process/errors.js";
import type { PromoRefusal } from "../../lib/domain/promo.js";

/** A promo code, in any case. */
export const PromoCode = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9_-]{3,32}$/, "must be 3 to 32 letters, digits, - or _")
  .transform((code) => code.toUpperCase())
  .meta({ example: "AUTUMN-10" });

const reasons: Record<PromoRefusal, string> = {
  UNKNOWN: "There is no such promo code.",
  NOT_STARTED: "This promo code is not valid yet.",
  ENDED: "This promo code is no longer valid.",
  OTHER_PARTNER: "This promo code is for another partner's orders.",
  MINIMUM_NOT_MET: "The order is below the promo code's minimum.",
  USED_UP: "This promo code is used up.",
  USED_BY_YOU: "You have used this promo code already.",
};

/** The error for a promo code that does not apply. */
export const invalidPromo = (reason: PromoRefusal) =>
  new ApiError(400, "INVALID_PROMO", reasons[reason], { valid: false, discountCents: 0, error: reason });
