import type { Enum } from "./enums.js";

export type CampaignStatus = Enum<"campaignStatus">;

/** Which moves a campaign can make, from where to where; there are no others. Its end date makes COMPLETE by itself. */
export const campaignMoves = {
  ACTIVATE: { from: ["DRAFT", "PAUSED"], to: "ACTIVE" },
  PAUSE: { from: ["ACTIVE"], to: "PAUSED" },
  COMPLETE: { from: ["ACTIVE", "PAUSED"], to: "COMPLETED" },
} as const satisfies Record<string, { from: readonly CampaignStatus[]; to: CampaignStatus }>;

export type CampaignMove = keyof typeof campaignMoves;
