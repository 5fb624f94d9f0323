import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { enums } from "../../../lib/domain/enums.js";
import type { ApiError } from "../../../lib/process/errors.js";
import { limits } from "../../../lib/domain/limits.js";
import { toMajor } from "../../../lib/domain/money.js";
import { sha256 } from "../../../lib/security/crypto.js";
import { newPickupCode } from "../../../lib/security/pickup-code.js";
import { contended, inTurn, lookups, sql } from "../../../sql/db.js";
import {
  findOrder,
  listOrderEvents,
  listOrdersOfUser,
  moveOrder,
  placeOrder,
  type OrderRow,
  type Placement,
} from "../../../sql/queries/orders.js";
import { declinePosOrder } from "../../../sql/queries/pos-orders.js";
import { findPrincipal } from "../../../sql/queries/users.js";
import { created, found, noContent, ok, section } from "../../http/endpoint.js";
import { page } from "../../http/pagination.js";
import { sessionEnded } from "../../http/refusals.js";
import { invalidPromo, limitGuesses, PromoCode, promoErrors } from "../../common/promo-codes.js";
import { Id, orNull, text, Timestamp, TotalAmount } from "../../http/schemas.js";
import {
  OrderReceipt,
  OrderState,
  OrderStatus,
  OrderView,
  presentLine,
  presentMove,
  presentOrder,
  StatusQuery,
} from "./presentation.js";
import {
  customerLimit,
  duplicate,
  keyReused,
  noPartner,
  notAllowed,
  notDeclinable,
  notEnough,
  partnerInactive,
  tooLateToCancel,
  tooManyOpen,
  unknownItems,
  windowClosed,
  windowJustClosed,
  wrongTotal,
} from "./refusals.js";

const Qty = z.int().min(1).max(limits.order.pieces);

/** A line names its item as `menuItemId` or as `boxId`; both may be sent if they are equal. */
const Line = z
  .union([
    z
      .object({ menuItemId: Id, boxId: Id.nullish(), qty: Qty })
      .refine(
        ({ menuItemId, boxId }) => menuItemId === (boxId ?? menuItemId),
        "names two items; send either menuItemId or boxId",
      ),
    z.object({ boxId: Id, menuItemId: z.null().optional(), qty: Qty }),
  ])
  .transform((line) => ({ id: line.menuItemId ?? line.boxId, qty: line.qty }));

const NewOrder = z.object({
  items: z
    .array(Line)
    .min(1)
    .max(limits.order.lines)
    .transform((lines) => {
      const sums = new Map<string, number>();
      for (const { id, qty } of lines) sums.set(id, (sums.get(id) ?? 0) + qty);
      return [...sums].map(([id, qty]) => ({ id, qty }));
    })
    .refine(
      (lines) => lines.every(({ qty }) => qty <= limits.order.pieces),
      `must not have more than ${limits.order.pieces} of one item`,
    )
    .meta({
      description:
        "`menuItemId` names a menu item or a box (`boxId` is a synonym; a line has one of them); quantities of the same id are summed",
      example: [
        { menuItemId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f", qty: 1 },
        { boxId: "01978d2e-6b7c-7d4e-9fa0-1b2c3d4e5f60", qty: 2 },
      ],
    }),
  totalAmount: TotalAmount,
  partnerId: Id,
  address: orNull(text(limits.text.address)),
  promoCode: orNull(PromoCode).meta({
    description: "a promo code for this order; without it, the code that was applied last",
  }),
});

const IdempotencyHeaders = z.object({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, "must be 1 to 255 visible ASCII characters")
    .optional()
    .meta({ description: "makes repeating the request safe for 24 hours: the same key never places a second order" }),
});

/** Returns the error for an order that `place_order` refused. */
function refusalOf(placement: Exclude<Placement, { outcome: "PLACED" }>): ApiError {
  switch (placement.outcome) {
    case "DUPLICATE":
      return duplicate({
        orderId: placement.orderId,
        orderStatus: placement.orderStatus,
        estimatedReadyAt: placement.estimatedReadyAt,
      });
    case "KEY_REUSED":
      return keyReused();
    case "NO_BUYER":
      return sessionEnded();
    case "NO_PARTNER":
      return noPartner({ errors: [{ path: "partnerId", message: "there is no such partner" }] });
    case "PARTNER_INACTIVE":
      return partnerInactive();
    case "TOO_MANY_OPEN":
      return tooManyOpen({ allowed: placement.allowed, missed: placement.missed });
    case "UNKNOWN_ITEMS":
      return unknownItems({
        errors: placement.unknown.map((id) => ({ path: "items", message: `${id} is not on offer` })),
        unknown: placement.unknown,
      });
    case "WINDOW_CLOSED":
    case "WINDOW_JUST_CLOSED": {
      const closed = placement.closed.map(({ id, pickupWindowEnd }) => ({ menuItemId: id, pickupWindowEnd }));
      if (placement.outcome === "WINDOW_JUST_CLOSED") return windowJustClosed({ closed });
      const errors = closed.map(({ menuItemId }) => ({
        path: "items",
        message: `the pickup window of ${menuItemId} is over`,
      }));
      return windowClosed({ errors, closed });
    }
    case "NOT_ENOUGH":
      return notEnough({
        available: placement.available.map(({ id, available }) => ({ menuItemId: id, quantityAvailable: available })),
      });
    case "CUSTOMER_LIMIT":
      return customerLimit({
        limited: placement.limited.map(({ id, ...limit }) => ({ menuItemId: id, ...limit })),
      });
    case "PROMO_REFUSED":
      return invalidPromo(placement.reason);
    case "WRONG_TOTAL": {
      const totalAmount = toMajor(placement.totalMinor);
      const amountDue = toMajor(placement.totalMinor - placement.discountMinor);
      const message =
        amountDue === totalAmount
          ? `must be ${totalAmount}`
          : `must be ${totalAmount}, or ${amountDue} after the discount`;
      return wrongTotal({
        errors: [{ path: "totalAmount", message }],
        expected: { totalAmount, discountCents: placement.discountMinor, amountDue },
      });
    }
  }
}

export const orders = section({ prefix: "/orders", tag: "Orders" });

orders.post(
  "/",
  {
    name: "placeOrder",
    summary: "Place an order",
    description:
      "Reserves the boxes, fixes price and commission and notifies customer and partner, or changes nothing. `totalAmount` must be the sum of price × qty, before or after the promo discount. " +
      "409 `NOT_ENOUGH` lists what is left in `available`, and 409 `CUSTOMER_LIMIT` in `limited` how many more the partner lets this customer have; " +
      "409 `DUPLICATE` has the first order's `orderId`. A customer may have " +
      `${config.ORDERS_OPEN_MAX} open orders, and after 3 no-shows in 30 days one.`,
    auth: "USER",
    checksSession: true,
    headers: IdempotencyHeaders,
    body: NewOrder,
    answers: { 201: OrderReceipt },
    errors: [
      duplicate,
      keyReused,
      noPartner,
      partnerInactive,
      tooManyOpen,
      unknownItems,
      windowClosed,
      windowJustClosed,
      notEnough,
      customerLimit,
      wrongTotal,
      ...promoErrors,
    ],
  },
  async ({ user, sessionId, body, headers, ip, requestId }) => {
    const { items, partnerId, totalAmount: totalMinor, address, promoCode } = body;
    const order = { items, partnerId, totalMinor, address, promoCode };
    const key = headers["idempotency-key"];
    const pickupCode = newPickupCode();
    const fingerprint = sha256(JSON.stringify(order));
    const place = () =>
      inTurn(`orders ${user.id}`, () =>
        placeOrder(contended, {
          ...order,
          userId: user.id,
          sessionId,
          idempotency: key === undefined ? null : { key, fingerprint },
          pickupCode,
          requestId,
        }),
      );
    const refusedPromo = (placed: Placement) => (placed.outcome === "PROMO_REFUSED" ? placed.reason : null);
    const placement = await (promoCode === null ? place() : limitGuesses({ userId: user.id, ip }, place, refusedPromo));
    if (placement.outcome !== "PLACED") throw refusalOf(placement);
    const receipt = {
      orderId: placement.orderId,
      status: placement.status,
      estimatedReadyAt: placement.estimatedReadyAt,
      totalAmount: toMajor(placement.totalMinor),
      discountCents: placement.discountMinor,
      amountDue: toMajor(placement.totalMinor - placement.discountMinor),
      pickupCode,
      items: placement.items.map(presentLine),
    };
    return created(receipt, `/api/v1/orders/${placement.orderId}`);
  },
);

/** Finds an order that the user may see; throws 404 otherwise. */
async function visibleOrder(id: string, userId: string): Promise<OrderRow> {
  const order =
    (await findOrder(sql, id, userId)) ??
    ((await findPrincipal(sql, userId))?.isAdmin ? await findOrder(sql, id, userId, true) : undefined);
  return found(order, "This order");
}

orders.get(
  "/",
  {
    name: "listOrders",
    summary: "List your orders, newest first",
    auth: "USER",
    query: StatusQuery,
    answers: { 200: z.array(OrderView) },
  },
  ({ user, query, address }) =>
    page(
      address,
      query,
      (after, limit) => listOrdersOfUser(sql, user.id, query.status, after, limit),
      (row) => presentOrder(row, user.id),
    ),
);

orders.get(
  "/:id",
  {
    name: "readOrder",
    summary: "Read an order",
    description: "For its customer, its partner and admins; others get 404.",
    auth: "USER",
    answers: { 200: OrderView },
  },
  async ({ user, params }) => ok(presentOrder(await visibleOrder(params.id, user.id), user.id)),
);

orders.get(
  "/:id/events",
  {
    name: "listOrderEvents",
    summary: "List the events of an order, oldest first",
    description: "For its customer, its partner and admins; others get 404.",
    auth: "USER",
    answers: {
      200: z.array(
        z
          .object({
            from: OrderStatus.nullable().meta({ description: "null when the order was placed" }),
            to: OrderStatus,
            by: z.enum(enums.orderActor),
            at: Timestamp,
          })
          .meta({ id: "OrderEvent" }),
      ),
    },
  },
  async ({ user, params }) => {
    const { id } = await visibleOrder(params.id, user.id);
    return ok([...(await listOrderEvents(sql, id))]);
  },
);

orders.post(
  "/:id/cancel",
  {
    name: "cancelOrder",
    summary: "Cancel an order",
    description:
      "The customer may cancel until two hours before the first pickup window opens, or, without boxes, while the order is " +
      "ACCEPTED; the partner at any time. Boxes and promo become available again, and a review is withdrawn.",
    auth: "USER",
    answers: { 200: OrderState },
    errors: [notAllowed, tooLateToCancel],
  },
  async ({ user, params: { id }, requestId }) => {
    const customer = { actor: "CUSTOMER", userId: user.id } as const;
    const asCustomer = await moveOrder(contended, id, "CANCELLED", customer, { requestId });
    if (asCustomer) return ok(presentMove(id, asCustomer));
    const partnerId = found((await findPrincipal(lookups, user.id))?.partnerId, "This order");
    const partner = { actor: "PARTNER", userId: user.id, partnerId } as const;
    return ok(presentMove(id, await moveOrder(contended, id, "CANCELLED", partner, { requestId })));
  },
);

orders.post(
  "/:id/decline",
  {
    name: "declineOrder",
    summary: "Decline an order that you did not place",
    description:
      "For orders that a partner's POS took with your phone. The order, its notifications and its review are yours no longer, " +
      "and the partner's POS gives you no more orders.",
    auth: "USER",
    answers: { 204: null },
    errors: [notDeclinable],
  },
  async ({ user, params: { id } }) => {
    if (await declinePosOrder(contended, id, user.id)) return noContent();
    found(await findOrder(lookups, id, user.id), "This order");
    throw notDeclinable();
  },
);
