export type ReviewStatus = "PUBLISHED" | "PENDING" | "APPROVED" | "REJECTED";

const everyStatus = ["PUBLISHED", "PENDING", "APPROVED", "REJECTED"] as const satisfies readonly ReviewStatus[];

/** How a review's status changes: its author edits it until it is moderated; an admin decides, and may decide otherwise later. */
export const reviewMoves = {
  EDIT: { from: ["PUBLISHED", "PENDING"], to: "PENDING" },
  APPROVE: { from: everyStatus, to: "APPROVED" },
  REJECT: { from: everyStatus, to: "REJECTED" },
} as const satisfies Record<string, { from: readonly ReviewStatus[]; to: ReviewStatus }>;
