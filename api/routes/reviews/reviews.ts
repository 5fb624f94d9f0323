import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { sql } from "../../../sql/db.js";
import {
  editReview,
  findRating,
  listReviewsToModerate,
  listShownReviews,
  moderateReview,
  publishReview,
} from "../../../sql/queries/reviews.js";
import { created, found, ok, section } from "../../http/endpoint.js";
import { page, PageQuery } from "../../http/pagination.js";
import { refusal, refusalWith } from "../../http/refusal.js";
import { notFound } from "../../http/refusals.js";
import { changesOf, Id, orNull, text, Timestamp } from "../../http/schemas.js";

const Rating = z.int().min(1).max(5);
const ReviewStatus = z.enum(enums.reviewStatus);
const ReviewState = z.object({ id: Id, status: ReviewStatus });

const ShownReview = z
  .object({ id: Id, rating: Rating, text: z.string().nullable(), createdAt: Timestamp })
  .meta({ id: "ShownReview" });

const orderCancelled = refusal(
  409,
  "CONFLICT",
  "ORDER_CANCELLED",
  "This order was cancelled.",
  "Offer no review for an order that is CANCELLED.",
);
const orderNotPickedUp = refusal(
  409,
  "CONFLICT",
  "ORDER_NOT_PICKED_UP",
  "This order was not picked up.",
  "Offer no review for an order that is NO_SHOW.",
);
const ownPartner = refusal(
  409,
  "CONFLICT",
  "OWN_PARTNER",
  "You cannot review a partner that you own or work for.",
  "Offer no review of one's own partner.",
);
const alreadyReviewed = refusal(
  409,
  "CONFLICT",
  "ALREADY_REVIEWED",
  "This order has a review already.",
  "Offer to change the review instead.",
);
const reviewModerated = refusalWith(409, "CONFLICT", "REVIEW_MODERATED", {
  detail: ({ reviewStatus }) => `This review has been moderated: it is ${reviewStatus}.`,
  remedy: "It can no longer be changed.",
  facts: { reviewStatus: ReviewStatus },
  example: { reviewStatus: "APPROVED" },
});
const reviewEdited = refusal(
  409,
  "CONFLICT",
  "REVIEW_EDITED",
  "This review was edited after you read it.",
  "Read the review again, and decide on what it says now.",
);

export const reviews = section({ prefix: "/reviews", tag: "Reviews" });

reviews.post(
  "/",
  {
    name: "reviewOrder",
    summary: "Review your order",
    description:
      "Once per order, unless it was cancelled or not picked up. The review is public at once. Owners and staff cannot review " +
      "orders from their own partner.",
    auth: "USER",
    body: z.object({ orderId: Id, rating: Rating, text: orNull(text(2_000)) }),
    answers: { 201: z.object({ id: Id, orderId: Id, rating: Rating, status: ReviewStatus }) },
    errors: [notFound, orderCancelled, orderNotPickedUp, ownPartner, alreadyReviewed],
  },
  async ({ user, body, requestId }) => {
    const { orderId, rating } = body;
    const published = await publishReview(sql, { ...body, userId: user.id }, requestId);
    switch (published?.outcome) {
      case undefined:
        throw notFound("This order");
      case "CANCELLED":
        throw orderCancelled();
      case "NO_SHOW":
        throw orderNotPickedUp();
      case "OWN_PARTNER":
        throw ownPartner();
      case "TWICE":
        throw alreadyReviewed();
      case "PUBLISHED":
        return created({ id: published.id, orderId, rating, status: "PUBLISHED" as const });
    }
  },
);

reviews.put(
  "/:id",
  {
    name: "changeReview",
    summary: "Change your review",
    description: "Possible until it is moderated. A changed review is hidden until then.",
    auth: "USER",
    body: changesOf({ rating: Rating, text: text(2_000) }),
    answers: { 200: ReviewState },
    errors: [reviewModerated],
  },
  async ({ user, params: { id }, body }) => {
    const { moved, status } = found(await editReview(sql, id, user.id, body), "This review");
    if (!moved) throw reviewModerated({ reviewStatus: status });
    return ok({ id, status });
  },
);

reviews.get(
  "/partners/:id",
  {
    name: "listPartnerReviews",
    summary: "List the reviews of a partner, newest first",
    description: "Those that are public, without their authors.",
    auth: "ANYONE",
    shared: "profile",
    query: PageQuery,
    answers: { 200: z.array(ShownReview) },
  },
  async ({ params: { id }, query, address, reads, searches }) => {
    const answer = await page(address, query, (after, limit) => listShownReviews(searches(limit), id, after, limit));
    if (answer.body.length === 0) found(await findRating(reads, id), "This partner");
    return answer;
  },
);

reviews.get(
  "/partners/:id/rating",
  {
    name: "readPartnerRating",
    summary: "Read the rating of a partner",
    description: "The mean of its reviews, to two decimals; 0 without reviews.",
    auth: "ANYONE",
    shared: "profile",
    answers: { 200: z.object({ partnerId: Id, avgRating: z.number(), reviewCount: z.int() }) },
  },
  async ({ params: { id }, reads }) => {
    const { sum, count } = found(await findRating(reads, id), "This partner");
    const avgRating = count === 0 ? 0 : Math.round((sum * 100) / count) / 100;
    return ok({ partnerId: id, avgRating, reviewCount: count });
  },
);

reviews.get(
  "/admin",
  {
    name: "listReviewsToModerate",
    summary: "List reviews for moderation, oldest first",
    auth: "ADMIN",
    query: PageQuery.extend({ status: ReviewStatus.default("PENDING") }),
    answers: {
      200: z.array(
        z
          .object({
            ...ShownReview.shape,
            orderId: Id,
            partnerId: Id,
            status: ReviewStatus,
            revision: z.int().meta({ description: "changes with every edit", example: 1 }),
          })
          .meta({ id: "ReviewToModerate" }),
      ),
    },
  },
  ({ query, address }) =>
    page(address, query, (after, limit) => listReviewsToModerate(sql, query.status, after, limit)),
);

const decisionFor = { APPROVED: "APPROVE", REJECTED: "REJECT" } as const;

reviews.put(
  "/admin/:id/moderate",
  {
    name: "moderateReview",
    summary: "Approve or reject a review",
    description:
      "By `decision`, or by the resulting `status`; an admin may reverse it later. With `revision`, a review that was edited " +
      "since that revision is not changed: 409.",
    auth: "ADMIN",
    body: z
      .object({
        decision: z.enum(["APPROVE", "REJECT"]),
        status: z.enum(["APPROVED", "REJECTED"]),
        revision: z.int().min(1).max(1_000_000_000),
      })
      .partial()
      .transform(({ decision, status, revision = null }, context) => {
        const decided = decision ?? (status && decisionFor[status]);
        if (decided !== undefined) return { decision: decided, revision };
        context.addIssue({ code: "custom", path: ["decision"], message: "is missing" });
        return z.NEVER;
      })
      .meta({ example: { decision: "APPROVE", revision: 1 } }),
    answers: { 200: ReviewState },
    errors: [reviewEdited],
  },
  async ({ user, params: { id }, body: { decision, revision }, requestId }) => {
    const moderated = await moderateReview(sql, id, decision, revision, user.id, requestId);
    const { moved, status } = found(moderated, "This review");
    if (!moved) throw reviewEdited();
    return ok({ id, status });
  },
);
