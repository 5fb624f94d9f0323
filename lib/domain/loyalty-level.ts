export const loyaltyLevels = ["BRONZE", "SILVER", "GOLD", "PLATINUM"] as const;

export type LoyaltyLevel = (typeof loyaltyLevels)[number];

/** The earned points at which each level begins. */
const begins: Readonly<Record<LoyaltyLevel, number>> = { BRONZE: 0, SILVER: 500, GOLD: 2_000, PLATINUM: 10_000 };

/** The level that this many earned points make. */
export const loyaltyLevel = (points: number): LoyaltyLevel =>
  loyaltyLevels.findLast((level) => points >= begins[level]) ?? "BRONZE";
