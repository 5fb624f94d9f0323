import { z } from "zod";
import { config } from "../../lib/process/config.js";
import type { ApiError } from "../../lib/process/errors.js";
import type { PromoRefusal } from "../../lib/domain/promo.js";
import { formatWait } from "../../lib/outbound/retry-after.js";
import { limitFailures } from "../http/limits.js";
import { refusalWith } from "../http/refusal.js";
import { retryFacts } from "../http/refusals.js";

/** A promo code, in any case. */
export const PromoCode = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9_-]{3,32}$/, "must be 3 to 32 letters, digits, - or _")
  .transform((code) => code.toUpperCase())
  .meta({ example: "AUTUMN-10" });

/** Declares why a promo code does not apply; `error` is the reason without its prefix. */
const declare = (error: PromoRefusal, reason: string, detail: string, remedy = "Use another code, or order without.") =>
  refusalWith(400, "INVALID_PROMO", reason, {
    detail,
    remedy,
    facts: { valid: z.literal(false), discountCents: z.literal(0), error: z.literal(error) },
    example: { valid: false, discountCents: 0, error },
  });

const promoRefusals = {
  UNKNOWN: declare("UNKNOWN", "PROMO_UNKNOWN", "There is no such promo code.", "Let the user check its spelling."),
  NOT_STARTED: declare("NOT_STARTED", "PROMO_NOT_STARTED", "This promo code is not valid yet.", "Use it later."),
  ENDED: declare("ENDED", "PROMO_ENDED", "This promo code is no longer valid."),
  OTHER_PARTNER: declare("OTHER_PARTNER", "PROMO_OTHER_PARTNER", "This promo code is for another partner's orders."),
  MINIMUM_NOT_MET: declare(
    "MINIMUM_NOT_MET",
    "PROMO_MINIMUM_NOT_MET",
    "The order is below the promo code's minimum.",
    "Order more, or without the code.",
  ),
  USED_UP: declare("USED_UP", "PROMO_USED_UP", "This promo code is used up."),
  USED_BY_YOU: declare("USED_BY_YOU", "PROMO_USED_BY_YOU", "You have used this promo code already."),
};

const tooManyUnknownPromos = refusalWith(429, "RATE_LIMIT", "TOO_MANY_UNKNOWN_PROMOS", {
  detail: ({ retryAfterSeconds }) =>
    `Too many unknown promo codes were tried; try again in ${formatWait(retryAfterSeconds)}.`,
  remedy: "Wait for `retryAfterSeconds`, or order without a code.",
  facts: retryFacts,
  example: { retryAfterSeconds: 1_800 },
});

/** The reasons of an endpoint that takes a promo code. */
export const promoErrors = [...Object.values(promoRefusals), tooManyUnknownPromos];

const guesses = {
  name: "promo",
  perUser: config.PROMO_GUESSES_USER,
  perAddress: config.PROMO_GUESSES_ADDRESS,
  refuse: tooManyUnknownPromos,
};

/** Makes an attempt to use a promo code; throws 429 after too many with codes that are unknown, so that none can be guessed. */
export const limitGuesses = <Result>(
  caller: { userId: string; ip: string },
  attempt: () => Promise<Result>,
  refusalOf: (result: Result) => PromoRefusal | null,
): Promise<Result> => limitFailures(guesses, caller, attempt, (result) => refusalOf(result) === "UNKNOWN");

/** The error for a promo code that does not apply. */
export const invalidPromo = (error: PromoRefusal): ApiError =>
  promoRefusals[error]({ valid: false, discountCents: 0, error });
