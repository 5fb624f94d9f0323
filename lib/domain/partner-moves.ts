import type { Enum } from "./enums.js";

export type PartnerStatus = Enum<"partnerStatus">;

/** Every status move that a partner allows; only admins make them. `audit` is its action in the audit log. */
export const partnerMoves = {
  APPROVE: { from: ["PENDING_REVIEW", "REJECTED", "SUSPENDED"], to: "ACTIVE", audit: "PARTNER_APPROVE" },
  REJECT: { from: ["PENDING_REVIEW"], to: "REJECTED", audit: "PARTNER_REJECT" },
  SUSPEND: { from: ["PENDING_REVIEW", "ACTIVE"], to: "SUSPENDED", audit: "PARTNER_SUSPEND" },
} as const satisfies Record<string, { from: readonly PartnerStatus[]; to: PartnerStatus; audit: string }>;

export type PartnerMove = keyof typeof partnerMoves;
