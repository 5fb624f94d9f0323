import { z } from "zod";
import { contract } from "./contract.js";

/**
 * Events that users are notified of; the subject is an order, a review, a partner, a box, a campaign, an export of a user's data, a
 * webhook endpoint or a statement. The recipients are in
 * `sql/queries/recipients.ts`, the texts in `lib/domain/notification-kinds.ts`.
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
  "PARTNER_OWNED",
  "PARTNER_ACTIVE",
  "PARTNER_REJECTED",
  "PARTNER_SUSPENDED",
  "BOX_LISTED",
  "BOX_BACK",
  "BOX_CHEAPER",
  "CAMPAIGN_COMPLETED",
  "DATA_EXPORT_READY",
  "WEBHOOK_STOPPED",
  "WEBHOOK_BACK",
  "STATEMENT_READY",
] as const;

export type EventKind = (typeof events)[number];

/**
 * Turns an event into a notification for each of its recipients, once. For a large audience each job serves a batch and stages
 * the next job, which continues `after` the last recipient.
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
  concurrency: 50,
});
