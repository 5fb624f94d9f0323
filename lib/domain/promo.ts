import { z } from "zod";

/** Why a promo code does not hold; an inactive code is as unknown as one that never was. */
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
