import { enums, type Enum } from "./enums.js";

export type ReviewStatus = Enum<"reviewStatus">;

/** Every status move that a review allows: its author edits it until it is moderated; an admin may change a decision. */
export const reviewMoves = {
  EDIT: { from: ["PUBLISHED", "PENDING"], to: "PENDING" },
  APPROVE: { from: enums.reviewStatus, to: "APPROVED" },
  REJECT: { from: enums.reviewStatus, to: "REJECTED" },
} as const satisfies Record<string, { from: readonly ReviewStatus[]; to: ReviewStatus }>;
