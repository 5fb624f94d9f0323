import { z } from "zod";
import { config } from "../../lib/process/config.js";
import { ApiError } from "../../lib/process/errors.js";
import type { PromoRefusal } from "../../lib/domain/promo.js";
import { limitFailures } from "../http/limits.js";

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

const guesses = {
  name: "promo",
  perUser: config.PROMO_GUESSES_USER,
  perAddress: config.PROMO_GUESSES_ADDRESS,
  refusal: "Too many unknown promo codes were tried",
};

/** Makes an attempt to use a promo code; throws 429 after too many with codes that are unknown, so that none can be guessed. */
export const limitGuesses = <Result>(
  caller: { userId: string; ip: string },
  attempt: () => Promise<Result>,
  refusalOf: (result: Result) => PromoRefusal | null,
): Promise<Result> => limitFailures(guesses, caller, attempt, (result) => refusalOf(result) === "UNKNOWN");

/** The error for a promo code that does not apply. */
export const invalidPromo = (reason: PromoRefusal) =>
  new ApiError(400, "INVALID_PROMO", reasons[reason], { valid: false, discountCents: 0, error: reason });
