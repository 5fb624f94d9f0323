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
    referralCode: z.string().meta({ description: "to bring others with", example: "7K3M9QX2" }),
  })
  .meta({ id: "LoyaltyScore" });

export const loyalty = section({ prefix: "/loyalty", tag: "Loyalty and promo" });

async function scoreOf(userId: string): Promise<LoyaltyAccount> {
  const account = await getOrCreateLoyaltyAccount(sql, userId);
  if (!account) throw new ApiError(401, "UNAUTHORIZED", "This account no longer exists.");
  return account;
}

loyalty.get(
  "/score",
  {
    summary: "Read the own score",
    description:
      "A completed order earns a point for every 10 whole units of currency that were paid, and the weight of the food it saved.",
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
      return conflict("Somebody has brought you already.");
    case "ALREADY_CUSTOMER":
      return conflict("Referral codes are for customers without a completed order.");
    case "CYCLE":
      return conflict("Whose code this is was brought by you.");
  }
}

loyalty.post(
  "/referral",
  {
    summary: "Say who brought you",
    description:
      "Once, and before the first completed order. It earns 100 points at once, and the other 100 with that first order.",
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
