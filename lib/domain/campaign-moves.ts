import type { Enum } from "./enums.js";

export type CampaignStatus = Enum<"campaignStatus">;

/** Every status move that a campaign allows. COMPLETE also happens by itself, at its end date. `audit` is its action in the audit log. */
export const campaignMoves = {
  ACTIVATE: { from: ["DRAFT", "PAUSED"], to: "ACTIVE", audit: "CAMPAIGN_ACTIVATE" },
  PAUSE: { from: ["ACTIVE"], to: "PAUSED", audit: "CAMPAIGN_PAUSE" },
  COMPLETE: { from: ["ACTIVE", "PAUSED"], to: "COMPLETED", audit: "CAMPAIGN_COMPLETE" },
} as const satisfies Record<string, { from: readonly CampaignStatus[]; to: CampaignStatus; audit: string }>;

export type CampaignMove = keyof typeof campaignMoves;
