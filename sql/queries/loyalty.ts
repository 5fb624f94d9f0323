import { z } from "zod";
import type { Db } from "../db.js";
import { firstRow } from "../rows.js";

export interface LoyaltyAccount {
  points: number;
  foodSavedGrams: number;
  ordersCompleted: number;
  referralCode: string;
}

/** Finds a user's account; the first call creates it, with its referral code. */
export async function getOrCreateLoyaltyAccount(db: Db, userId: string): Promise<LoyaltyAccount | undefined> {
  const found = await findLoyaltyAccount(db, userId);
  if (found) return found;
  await db`select from create_loyalty_account(${userId}::uuid)`;
  return findLoyaltyAccount(db, userId);
}

const findLoyaltyAccount = (db: Db, userId: string) =>
  firstRow(db<LoyaltyAccount[]>`
    select points, food_saved_grams, orders_completed, referral_code
    from loyalty_accounts
    where user_id = ${userId}::uuid`);

/** What `attach_referral` (sql/functions/loyalty.sql) returns. */
const ReferralOutcome = z.enum([
  "ATTACHED",
  "UNKNOWN_CODE",
  "OWN_CODE",
  "ALREADY_REFERRED",
  "ALREADY_CUSTOMER",
  "CYCLE",
]);

export type ReferralOutcome = z.output<typeof ReferralOutcome>;

/** Records a user's referrer and credits the points for it, once; any result but ATTACHED changes nothing. */
export async function attachReferral(db: Db, userId: string, code: string): Promise<ReferralOutcome> {
  const [row] = await db<{ outcome: unknown }[]>`
    select attach_referral(${userId}::uuid, ${code}::text) as outcome`;
  return ReferralOutcome.parse(row?.outcome);
}
