import { z } from "zod";
import type { Db } from "../db.js";

export interface LoyaltyAccount {
  points: number;
  foodSavedGrams: number;
  ordersCompleted: number;
  referralCode: string;
}

/** What a user has earned; the account and its referral code are made at the first look. */
export async function getOrCreateLoyaltyAccount(db: Db, userId: string): Promise<LoyaltyAccount | undefined> {
  const found = await findLoyaltyAccount(db, userId);
  if (found) return found;
  await db`select from create_loyalty_account(${userId}::uuid)`;
  return findLoyaltyAccount(db, userId);
}

const findLoyaltyAccount = async (db: Db, userId: string) =>
  (
    await db<LoyaltyAccount[]>`
      select points, food_saved_grams as "foodSavedGrams", orders_completed as "ordersCompleted",
             referral_code as "referralCode"
      from loyalty_accounts
      where user_id = ${userId}::uuid`
  )[0];

/** What `attach_referral` (sql/functions/loyalty.sql) answers. */
const ReferralOutcome = z.enum([
  "ATTACHED",
  "UNKNOWN_CODE",
  "OWN_CODE",
  "ALREADY_REFERRED",
  "ALREADY_CUSTOMER",
  "CYCLE",
]);

export type ReferralOutcome = z.output<typeof ReferralOutcome>;

/** Notes who brought this user and gives the welcome points, once; anything but ATTACHED has changed nothing. */
export async function attachReferral(db: Db, userId: string, code: string): Promise<ReferralOutcome> {
  const [row] = await db<{ outcome: unknown }[]>`
    select attach_referral(${userId}::uuid, ${code}::text) as outcome`;
  return ReferralOutcome.parse(row?.outcome);
}
