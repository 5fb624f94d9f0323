import type { Enum } from "./enums.js";

export type PartnerStatus = Enum<"partnerStatus">;

/** Every status move that a partner allows; only admins make them. */
export const partnerMoves = {
  APPROVE: { from: ["PENDING_REVIEW", "REJECTED", "SUSPENDED"], to: "ACTIVE" },
  REJECT: { from: ["PENDING_REVIEW"], to: "REJECTED" },
  SUSPEND: { from: ["PENDING_REVIEW", "ACTIVE"], to: "SUSPENDED" },
} as const satisfies Record<string, { from: readonly PartnerStatus[]; to: PartnerStatus }>;

export type PartnerMove = keyof typeof partnerMoves;
