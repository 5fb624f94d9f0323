import { z } from "zod";
import { enums } from "../../lib/domain/enums.js";
import { reviewMoves, type ReviewStatus } from "../../lib/domain/review-moves.js";
import type { EventKind } from "../../queues/fan-out.js";
import type { Db } from "../db.js";
import { firstRow } from "../rows.js";

export interface NewReview {
  orderId: string;
  userId: string;
  rating: number;
  text: string | null;
}

/** What `publish_review` (sql/functions/reviews.sql) returns. */
const Published = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.literal("PUBLISHED"), id: z.string() }),
  z.object({ outcome: z.enum(["CANCELLED", "NO_SHOW", "OWN_PARTNER", "TWICE"]) }),
]);

/** Publishes a customer's review, with the partner's rating and an event for the partner, as one statement; undefined when the customer has no such order. */
export async function publishReview(
  db: Db,
  { orderId, userId, rating, text }: NewReview,
  requestId: string | null = null,
) {
  const [row] = await db<{ outcome: string | null; id: string | null }[]>`
    select outcome, id
    from publish_review(${orderId}::uuid, ${userId}::uuid, ${rating}::integer, ${text}::text, ${requestId}::text)`;
  return row && Published.parse(row);
}

const Status = z.enum(enums.reviewStatus);
const Changed = z.object({ moved: z.boolean(), status: Status });

/** Updates an author's review and makes it PENDING; `moved` is false when it is already moderated. Undefined when the author has no such review. */
export async function editReview(
  db: Db,
  id: string,
  userId: string,
  { rating, text }: { rating?: number | undefined; text?: string | undefined },
) {
  const { from, to } = reviewMoves.EDIT;
  const [row] = await db<{ moved: boolean | null; status: ReviewStatus | null }[]>`
    select moved, status
    from change_review(
      ${id}::uuid, ${userId}::uuid, ${[...from]}::review_status[], ${to}::review_status,
      ${rating ?? null}::integer, ${text ?? null}::text, null
    )`;
  return row && Changed.parse(row);
}

const eventOf = {
  APPROVE: "REVIEW_APPROVED",
  REJECT: "REVIEW_REJECTED",
} as const satisfies Record<string, EventKind>;

/**
 * Applies an admin's decision on a review, with an audit record and an event for its author; `moved` is false when the review's
 * status does not allow it or `revision` is not its present one. Undefined when there is no such review.
 */
export async function moderateReview(
  db: Db,
  id: string,
  decision: "APPROVE" | "REJECT",
  revision: number | null,
  actorId: string,
  requestId: string | null = null,
) {
  const { from, to } = reviewMoves[decision];
  const [row] = await db<{ moved: boolean | null; status: ReviewStatus | null; job: number | null }[]>`
    with decided as materialized (
      select moved, before, status
      from change_review(
        ${id}::uuid, null, ${[...from]}::review_status[], ${to}::review_status, null, null, ${revision}::integer
      )
    ), audited as (
      insert into audit_events (actor_id, action, subject_id, details)
      select ${actorId}::uuid, 'REVIEW_MODERATED', ${id}::uuid, jsonb_build_object('from', before, 'to', status)
      from decided
      where before <> status
    )
    select moved, status, case when before <> status then
      stage_job('fan-out', jsonb_build_object('event', ${eventOf[decision]}::text, 'subjectId', ${id}::uuid), ${requestId}::text)
    end::bigint as job
    from decided`;
  return row && Changed.parse(row);
}

export interface ShownReview {
  id: string;
  rating: number;
  text: string | null;
  createdAt: Date;
}

/** Lists the reviews of a partner that the public sees, newest first, after the one with id `after`. */
export const listShownReviews = (db: Db, partnerId: string, after: string | null, limit: number) =>
  db<ShownReview[]>`
    select id, rating, text, created_at
    from reviews
    where partner_id = ${partnerId}::uuid and status in ('PUBLISHED', 'APPROVED')
      and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc
    limit ${limit}`;

export interface ReviewRow extends ShownReview {
  orderId: string;
  partnerId: string;
  status: ReviewStatus;
  /** Changes with every edit. */
  revision: number;
}

/** Lists reviews with a status for moderation, oldest first, after the one with id `after`. */
export const listReviewsToModerate = (db: Db, status: ReviewStatus, after: string | null, limit: number) =>
  db<ReviewRow[]>`
    select id, order_id, partner_id, rating, text, status, revision, created_at
    from reviews
    where status = ${status}::review_status and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;

export interface Rating {
  sum: number;
  count: number;
}

/** Finds the sum and the number of a partner's shown ratings; undefined when the public does not see such a partner. */
export const findRating = (db: Db, partnerId: string) =>
  firstRow(db<Rating[]>`
    select coalesce(r.rating_sum, 0) as sum, coalesce(r.review_count, 0) as count
    from partners p
    left join partner_ratings r on r.partner_id = p.id
    where p.id = ${partnerId}::uuid and p.activated_at is not null`);
