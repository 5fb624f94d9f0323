const levels = [
  { level: "PLATINUM", from: 10_000 },
  { level: "GOLD", from: 2_000 },
  { level: "SILVER", from: 500 },
  { level: "BRONZE", from: 0 },
] as const;

export type LoyaltyLevel = (typeof levels)[number]["level"];

/** The level that this many earned points make. */
export const loyaltyLevel = (points: number): LoyaltyLevel =>
  levels.find(({ from }) => points >= from)?.level ?? "BRONZE";
