import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { refusal, refusalWith } from "../../http/refusal.js";

export const campaignCompleted = refusal(
  409,
  "CONFLICT",
  "CAMPAIGN_COMPLETED",
  "A COMPLETED campaign cannot be changed.",
  "Create a new campaign.",
);
export const budgetSpent = refusal(
  409,
  "CONFLICT",
  "BUDGET_SPENT",
  "The campaign has already spent that much: set a higher budget, or complete it.",
  "Set a budget above what is `spent`.",
);
export const placementInUse = refusalWith(409, "CONFLICT", "PLACEMENT_IN_USE", {
  detail: ({ placements }) => `There are banners for ${placements.join(", ")}: move or delete them first.`,
  remedy: "Give the banners of these `placements` another placement, or delete them.",
  facts: { placements: z.array(z.string()) },
  example: { placements: ["home-top"] },
});
export const campaignEnded = refusal(
  409,
  "CONFLICT",
  "CAMPAIGN_ENDED",
  "The campaign's end has passed.",
  "Set a later `endsAt`.",
);
export const campaignMoveNotAllowed = refusalWith(409, "CONFLICT", "CAMPAIGN_MOVE_NOT_ALLOWED", {
  detail: ({ campaignStatus }) => `A campaign that is ${campaignStatus} does not allow this move.`,
  remedy: "Another admin moved the campaign: show its `campaignStatus`.",
  facts: { campaignStatus: z.enum(enums.campaignStatus) },
  example: { campaignStatus: "COMPLETED" },
});
