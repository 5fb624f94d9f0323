export type ReviewStatus = "PUBLISHED" | "PENDING" | "APPROVED" | "REJECTED";

const any = ["PUBLISHED", "PENDING", "APPROVED", "REJECTED"] as const satisfies readonly ReviewStatus[];

/** How a review's status changes: its author edits it until it is moderated; an admin decides, and may decide otherwise later. */
export const reviewMoves = {
  EDIT: { from: ["PUBLISHED", "PENDING"], to: "PENDING" },
  APPROVE: { from: any, to: "APPROVED" },
  REJECT: { from: any, to: "REJECTED" },
} as const satisfies Record<string, { from: readonly ReviewStatus[]; to: ReviewStatus }>;
