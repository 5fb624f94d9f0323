import { z } from "zod";
import type { ApiError } from "../../../lib/process/errors.js";
import { loyaltyLevel, loyaltyLevels } from "../../../lib/domain/loyalty-level.js";
import { sql } from "../../../sql/db.js";
import {
  attachReferral,
  getOrCreateLoyaltyAccount,
  type LoyaltyAccount,
  type ReferralOutcome,
} from "../../../sql/queries/loyalty.js";
import { ok, section } from "../../http/endpoint.js";
import { refusal } from "../../http/refusal.js";
import { sessionEnded } from "../../http/refusals.js";
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
  if (!account) throw sessionEnded();
  return account;
}

loyalty.get(
  "/score",
  {
    name: "readLoyaltyScore",
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

const unknownCode = refusal(
  400,
  "BAD_REQUEST",
  "UNKNOWN_CODE",
  "There is no such referral code.",
  "Let the user check its spelling.",
);
const ownCode = refusal(
  400,
  "BAD_REQUEST",
  "OWN_CODE",
  "This is your own referral code.",
  "Let the user give it to somebody else.",
);
const alreadyReferred = refusal(
  409,
  "CONFLICT",
  "ALREADY_REFERRED",
  "You have used a referral code already.",
  "Stop offering to enter one.",
);
const alreadyCustomer = refusal(
  409,
  "CONFLICT",
  "ALREADY_CUSTOMER",
  "Referral codes are for customers without a completed order.",
  "Stop offering to enter one.",
);
const referralCycle = refusal(
  409,
  "CONFLICT",
  "REFERRAL_CYCLE",
  "The owner of this code joined with yours.",
  "Let the user enter another code.",
);

function refusalOf(outcome: Exclude<ReferralOutcome, "ATTACHED">): ApiError {
  switch (outcome) {
    case "UNKNOWN_CODE":
      return unknownCode();
    case "OWN_CODE":
      return ownCode();
    case "ALREADY_REFERRED":
      return alreadyReferred();
    case "ALREADY_CUSTOMER":
      return alreadyCustomer();
    case "CYCLE":
      return referralCycle();
  }
}

loyalty.post(
  "/referral",
  {
    name: "useReferralCode",
    summary: "Use a referral code",
    description:
      "Once, before the first completed order. It earns you 100 points at once, and the owner of the code 100 with that order.",
    auth: "USER",
    body: z.object({ referralCode: text(32) }),
    answers: { 200: z.object({ userId: Id, points: z.int(), level: Level }) },
    errors: [unknownCode, ownCode, alreadyReferred, alreadyCustomer, referralCycle],
  },
  async ({ user, body }) => {
    const outcome = await attachReferral(sql, user.id, body.referralCode);
    if (outcome !== "ATTACHED") throw refusalOf(outcome);
    const { points } = await scoreOf(user.id);
    return ok({ userId: user.id, points, level: loyaltyLevel(points) });
  },
);
