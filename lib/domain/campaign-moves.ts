import type { Enum } from "./enums.js";

export type CampaignStatus = Enum<"campaignStatus">;

/** Every status move that a campaign allows. COMPLETE also happens by itself, at its end date. */
export const campaignMoves = {
  ACTIVATE: { from: ["DRAFT", "PAUSED"], to: "ACTIVE" },
  PAUSE: { from: ["ACTIVE"], to: "PAUSED" },
  COMPLETE: { from: ["ACTIVE", "PAUSED"], to: "COMPLETED" },
} as const satisfies Record<string, { from: readonly CampaignStatus[]; to: CampaignStatus }>;

export type CampaignMove = keyof typeof campaignMoves;
