import { z } from "zod";
import { contract } from "./contract.js";

/**
 * What happens that users hear of; its subject is an order, a review, a partner, a box or a campaign. Who hears of it is said
 * in `sql/queries/recipients.ts`, and in which words in `lib/domain/notification-kinds.ts`.
 */
export const events = [
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

export type EventKind = (typeof events)[number];

/**
 * Turns an event into a notification for each of its recipients, once. Where these are many, one job serves a batch of them
 * and stages the next job, which goes on `after` the last one.
 */
export const fanOut = contract({
  queue: "fan-out",
  payload: z.object({
    event: z.enum(events),
    subjectId: z.uuid(),
    after: z.uuid().nullable().default(null),
  }),
  attempts: 8,
  backoffMs: 1_000,
});
