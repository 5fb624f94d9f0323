import { z } from "zod";

/** Why a promo code is refused. An inactive code is UNKNOWN, as one that does not exist. */
export const PromoRefusal = z.enum([
  "UNKNOWN",
  "NOT_STARTED",
  "ENDED",
  "OTHER_PARTNER",
  "MINIMUM_NOT_MET",
  "USED_UP",
  "USED_BY_YOU",
]);

export type PromoRefusal = z.output<typeof PromoRefusal>;
