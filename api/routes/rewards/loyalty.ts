import { z } from "zod";
import { ApiError, conflict } from "../../../lib/process/errors.js";
import { loyaltyLevel, loyaltyLevels } from "../../../lib/domain/loyalty-level.js";
import { sql } from "../../../sql/db.js";
import {
  attachReferral,
  getOrCreateLoyaltyAccount,
  type LoyaltyAccount,
  type ReferralOutcome,
} from "../../../sql/queries/loyalty.js";
import { accountGone } from "../../http/auth.js";
import { ok, section } from "../../http/endpoint.js";
import { Id, text } from "../../http/schemas.js";

const Level = z.enum(loyaltyLevels);

const Score = z
  .object({
    userId: Id,
    points: z.int(),
    level: Level,
    foodSavedGrams: z.int(),
    ordersCompleted: z.int(),
    referralCode: z.string().meta({ description: "for inviting other users" }),
  })
  .meta({ id: "LoyaltyScore" });

export const loyalty = section({ prefix: "/loyalty", tag: "Loyalty and promo" });

async function scoreOf(userId: string): Promise<LoyaltyAccount> {
  const account = await getOrCreateLoyaltyAccount(sql, userId);
  if (!account) throw accountGone();
  return account;
}

loyalty.get(
  "/score",
  {
    summary: "Read your score",
    description:
      "A completed order earns one point per 10 whole units of currency paid, and adds the weight of the food it saved.",
    auth: "USER",
    answers: { 200: Score },
  },
  async ({ user }) => {
    const account = await scoreOf(user.id);
    return ok({ userId: user.id, ...account, level: loyaltyLevel(account.points) });
  },
);

function refusal(outcome: Exclude<ReferralOutcome, "ATTACHED">): ApiError {
  switch (outcome) {
    case "UNKNOWN_CODE":
      return new ApiError(400, "BAD_REQUEST", "There is no such referral code.");
    case "OWN_CODE":
      return new ApiError(400, "BAD_REQUEST", "This is your own referral code.");
    case "ALREADY_REFERRED":
      return conflict("You have used a referral code already.");
    case "ALREADY_CUSTOMER":
      return conflict("Referral codes are for customers without a completed order.");
    case "CYCLE":
      return conflict("The owner of this code joined with yours.");
  }
}

loyalty.post(
  "/referral",
  {
    summary: "Use a referral code",
    description:
      "Once, before the first completed order. It earns you 100 points at once, and the owner of the code 100 with that order.",
    auth: "USER",
    body: z.object({ referralCode: text(32) }),
    answers: { 200: z.object({ userId: Id, points: z.int(), level: Level }) },
    errors: ["400 BAD_REQUEST", "409 CONFLICT"],
  },
  async ({ user, body }) => {
    const outcome = await attachReferral(sql, user.id, body.referralCode);
    if (outcome !== "ATTACHED") throw refusal(outcome);
    const { points } = await scoreOf(user.id);
    return ok({ userId: user.id, points, level: loyaltyLevel(points) });
  },
);
