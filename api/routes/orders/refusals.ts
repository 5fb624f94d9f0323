import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { refusal, refusalWith } from "../../http/refusal.js";
import { FieldErrors, invalidTerms } from "../../http/refusals.js";
import { Id, Money, Timestamp } from "../../http/schemas.js";

// Why an order is refused, in the words of `place_order` and `move_order`.

const exampleId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
const orderStatus = z.enum(enums.orderStatus);

export const duplicate = refusalWith(409, "DUPLICATE", "DUPLICATE", {
  detail: "This Idempotency-Key has already placed this order.",
  remedy: "The order of `orderId` is the one that this request asked for: go on with it.",
  facts: { orderId: Id, orderStatus, estimatedReadyAt: Timestamp },
  example: { orderId: exampleId, orderStatus: "ACCEPTED", estimatedReadyAt: new Date("2026-06-01T15:00:00.000Z") },
});
export const keyReused = refusal(
  409,
  "CONFLICT",
  "KEY_REUSED",
  "This Idempotency-Key was used with another payload in the last 24 hours.",
  "Send a new key for a new order, and the same key only with the same body.",
);
export const noPartner = refusalWith(400, "VALIDATION_ERROR", "NO_PARTNER", {
  ...invalidTerms,
  remedy: "Read the partner again; it may have been deleted.",
  example: { errors: [{ path: "partnerId", message: "there is no such partner" }] },
});
export const partnerInactive = refusal(
  409,
  "CONFLICT",
  "PARTNER_INACTIVE",
  "This partner does not take orders at the moment.",
  "Show the customer other partners.",
);
export const tooManyOpen = refusalWith(409, "CONFLICT", "TOO_MANY_OPEN", {
  detail: ({ allowed, missed }) =>
    missed === null
      ? `You have ${allowed} open orders, as many as a customer may have: pick one up or cancel one first.`
      : `You did not pick up ${missed} orders in the last 30 days, so you may have one open order at a time.`,
  remedy: "Let the customer pick up or cancel an order first.",
  facts: {
    allowed: z.int().meta({ description: "how many open orders the customer may have", example: 50 }),
    missed: z
      .int()
      .nullable()
      .meta({ description: "orders that were not picked up, when they are why; else null", example: 3 }),
  },
  example: { allowed: 1, missed: 3 },
});
export const unknownItems = refusalWith(400, "VALIDATION_ERROR", "UNKNOWN_ITEMS", {
  detail: "items: this partner does not offer some of them (unknown, archived or hidden).",
  remedy: "Remove the items in `unknown` from the order, and read the partner's boxes and menu again.",
  facts: { errors: FieldErrors, unknown: z.array(Id) },
  example: { errors: [{ path: "items", message: `${exampleId} is not on offer` }], unknown: [exampleId] },
});
const closed = z
  .array(z.object({ menuItemId: Id, pickupWindowEnd: Timestamp }))
  .meta({ description: "the boxes that can no longer be picked up" });
const closedExample = [{ menuItemId: exampleId, pickupWindowEnd: new Date("2026-06-01T17:00:00.000Z") }];
export const windowClosed = refusalWith(400, "VALIDATION_ERROR", "WINDOW_CLOSED", {
  ...invalidTerms,
  remedy:
    "The pickup windows of the boxes in `closed` were over before the order arrived. Remove these boxes, and show the customer " +
    "others, as after `WINDOW_JUST_CLOSED`.",
  facts: { ...invalidTerms.facts, closed },
  example: { errors: [{ path: "items", message: `the pickup window of ${exampleId} is over` }], closed: closedExample },
});
export const windowJustClosed = refusalWith(409, "CONFLICT", "WINDOW_JUST_CLOSED", {
  detail: "The pickup window closed while the order was being placed.",
  remedy: "Show the customer other boxes than those in `closed`, as after `WINDOW_CLOSED`.",
  facts: { closed },
  example: { closed: closedExample },
});
export const notEnough = refusalWith(409, "CONFLICT", "NOT_ENOUGH", {
  detail: "Not enough boxes are left.",
  remedy: "Offer the customer what is left.",
  facts: {
    available: z
      .array(z.object({ menuItemId: Id, quantityAvailable: z.int() }))
      .meta({ description: "what is left of each box that is short" }),
  },
  example: { available: [{ menuItemId: exampleId, quantityAvailable: 1 }] },
});
export const customerLimit = refusalWith(409, "CONFLICT", "CUSTOMER_LIMIT", {
  detail: "This is more of a box than its partner lets one customer have.",
  remedy: "Order at most `remaining` of each box in `limited`.",
  facts: {
    limited: z.array(
      z.object({
        menuItemId: Id,
        maxPerCustomer: z.int(),
        remaining: z.int().meta({ description: "how many more this customer may order", example: 1 }),
      }),
    ),
  },
  example: { limited: [{ menuItemId: exampleId, maxPerCustomer: 2, remaining: 1 }] },
});
export const wrongTotal = refusalWith(400, "VALIDATION_ERROR", "WRONG_TOTAL", {
  ...invalidTerms,
  remedy: "A price or the discount has changed. Show the customer the total in `expected`, and send that.",
  facts: {
    ...invalidTerms.facts,
    expected: z.object({ totalAmount: Money, discountCents: z.int(), amountDue: Money }),
  },
  example: {
    errors: [{ path: "totalAmount", message: "must be 249.9, or 224.91 after the discount" }],
    expected: { totalAmount: 249.9, discountCents: 2_499, amountDue: 224.91 },
  },
});

export const notAllowed = refusalWith(409, "CONFLICT", "ORDER_MOVE_NOT_ALLOWED", {
  detail: ({ orderStatus }) => `An order that is ${orderStatus} does not allow this move.`,
  remedy: "Somebody else moved the order: show its `orderStatus`.",
  facts: { orderStatus },
  example: { orderStatus: "COMPLETED" },
});
export const tooLateToCancel = refusalWith(409, "CONFLICT", "TOO_LATE_TO_CANCEL", {
  detail:
    "It is too late to cancel this order: its customer may until two hours before the pickup window opens, or, without boxes, " +
    "while it is ACCEPTED.",
  remedy: "Let the customer pick the order up, or ask the partner to cancel it.",
  facts: { orderStatus },
  example: { orderStatus: "READY" },
});
export const wrongPickupCode = refusal(
  400,
  "INVALID_CODE",
  "WRONG_PICKUP_CODE",
  "This is not the order's pickup code.",
  "Let the customer show the code of this order.",
);
export const notDeclinable = refusal(
  409,
  "CONFLICT",
  "ORDER_NOT_DECLINABLE",
  "Only its customer may decline an order, and only one that came from a POS.",
  "Cancel the order instead.",
);
