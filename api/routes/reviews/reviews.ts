import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { conflict, notFound } from "../../../lib/process/errors.js";
import { lookups, sql } from "../../../sql/db.js";
import {
  editReview,
  findRating,
  listReviewsToModerate,
  listShownReviews,
  moderateReview,
  publishReview,
} from "../../../sql/queries/reviews.js";
import { created, ok, section } from "../../http/endpoint.js";
import { page, PageQuery } from "../../http/pagination.js";
import { changesOf, Id, IdParams, text, Timestamp } from "../../http/schemas.js";

const Rating = z.int().min(1).max(5);
const ReviewStatus = z.enum(enums.reviewStatus);
const ReviewState = z.object({ id: Id, status: ReviewStatus });

const ShownReview = z
  .object({ id: Id, rating: Rating, text: z.string().nullable(), createdAt: Timestamp })
  .meta({ id: "ShownReview" });

export const reviews = section({ prefix: "/reviews", tag: "Reviews" });

reviews.post(
  "/",
  {
    summary: "Review your order",
    description: "Once per order, unless it was cancelled. The review is public at once.",
    auth: "USER",
    body: z.object({ orderId: Id, rating: Rating, text: text(2_000).optional() }),
    answers: { 201: z.object({ id: Id, orderId: Id, rating: Rating, status: ReviewStatus }) },
    errors: ["404 NOT_FOUND", "409 CONFLICT"],
  },
  async ({ user, body: { orderId, rating, text: words = null }, requestId }) => {
    const published = await publishReview(sql, { orderId, userId: user.id, rating, text: words }, requestId);
    switch (published?.outcome) {
      case undefined:
        throw notFound("This order");
      case "CANCELLED":
        throw conflict("This order was cancelled.");
      case "TWICE":
        throw conflict("This order has a review already.");
      case "PUBLISHED":
        return created({ id: published.id, orderId: orderId.toLowerCase(), rating, status: "PUBLISHED" as const });
    }
  },
);

reviews.put(
  "/:id",
  {
    summary: "Change your review",
    description: "Possible until it is moderated. A changed review is hidden until then.",
    auth: "USER",
    params: IdParams,
    body: changesOf({ rating: Rating, text: text(2_000) }),
    answers: { 200: ReviewState },
    errors: ["409 CONFLICT"],
  },
  async ({ user, params: { id }, body }) => {
    const changed = await editReview(sql, id, user.id, body);
    if (!changed) throw notFound("This review");
    if (!changed.moved) throw conflict(`This review has been moderated: it is ${changed.status}.`);
    return ok({ id: id.toLowerCase(), status: changed.status });
  },
);

reviews.get(
  "/partners/:id",
  {
    summary: "List the reviews of a partner, newest first",
    auth: "ANYONE",
    params: IdParams,
    query: PageQuery,
    answers: { 200: z.array(ShownReview) },
  },
  async ({ params: { id }, query, address }) => {
    const { rows, headers } = await page(address, query, (after, limit) => listShownReviews(sql, id, after, limit));
    if (rows.length === 0 && !(await findRating(lookups, id))) throw notFound("This partner");
    return ok(
      rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() })),
      headers,
    );
  },
);

reviews.get(
  "/partners/:id/rating",
  {
    summary: "Read the rating of a partner",
    description: "The mean of its reviews, to two decimals; 0 without reviews.",
    auth: "ANYONE",
    params: IdParams,
    answers: { 200: z.object({ partnerId: Id, avgRating: z.number(), reviewCount: z.int() }) },
  },
  async ({ params: { id } }) => {
    const rating = await findRating(lookups, id);
    if (!rating) throw notFound("This partner");
    const avgRating = rating.count === 0 ? 0 : Math.round((rating.sum * 100) / rating.count) / 100;
    return ok({ partnerId: id.toLowerCase(), avgRating, reviewCount: rating.count });
  },
);

reviews.get(
  "/admin",
  {
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
  async ({ query, address }) => {
    const { rows, headers } = await page(address, query, (after, limit) =>
      listReviewsToModerate(sql, query.status, after, limit),
    );
    return ok(
      rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() })),
      headers,
    );
  },
);

const decisionFor = { APPROVED: "APPROVE", REJECTED: "REJECT" } as const;

reviews.put(
  "/admin/:id/moderate",
  {
    summary: "Approve or reject a review",
    description:
      "By `decision`, or by the resulting `status`; an admin may reverse it later. With `revision`, a review that was edited " +
      "since that revision is not changed: 409.",
    auth: "ADMIN",
    params: IdParams,
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
    errors: ["409 CONFLICT"],
  },
  async ({ user, params: { id }, body: { decision, revision }, requestId }) => {
    const moderated = await moderateReview(sql, id, decision, revision, user.id, requestId);
    if (!moderated) throw notFound("This review");
    if (!moderated.moved) throw conflict("This review was edited after you read it.");
    return ok({ id: id.toLowerCase(), status: moderated.status });
  },
);
