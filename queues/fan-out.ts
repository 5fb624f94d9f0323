import { z } from "zod";
import { contract } from "./contract.js";

/** What happens that people are told of; the subject is an order, a review, a partner, a box or a campaign. */
export const occasions = [
  "ORDER_PLACED",
  "PICKUP_SOON",
  "ORDER_READY",
  "ORDER_COMPLETED",
  "ORDER_CANCELLED",
  "ORDER_NO_SHOW",
  "REVIEW_PUBLISHED",
  "REVIEW_APPROVED",
  "REVIEW_REJECTED",
  "PARTNER_ACTIVE",
  "PARTNER_REJECTED",
  "PARTNER_SUSPENDED",
  "BOX_LISTED",
  "BOX_BACK",
  "BOX_CHEAPER",
  "CAMPAIGN_COMPLETED",
] as const;

export type Occasion = (typeof occasions)[number];

/**
 * Turns what has happened into a notification for each person it concerns; each person is told of it once. Where they are
 * many, one job tells a batch of them and stages the next, which goes on `after` the last one.
 */
export const fanOut = contract({
  queue: "fan-out",
  payload: z.object({
    announcement: z.enum(occasions),
    subjectId: z.uuid(),
    after: z.uuid().nullable().default(null),
  }),
  attempts: 8,
  backoffMs: 1_000,
});
