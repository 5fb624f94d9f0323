export const loyaltyLevels = ["BRONZE", "SILVER", "GOLD", "PLATINUM"] as const;

export type LoyaltyLevel = (typeof loyaltyLevels)[number];

/** The earned points at which each level starts. */
const begins: Readonly<Record<LoyaltyLevel, number>> = { BRONZE: 0, SILVER: 500, GOLD: 2_000, PLATINUM: 10_000 };

/** Returns the level for a number of earned points. */
export const loyaltyLevel = (points: number): LoyaltyLevel =>
  loyaltyLevels.findLast((level) => points >= begins[level]) ?? "BRONZE";
