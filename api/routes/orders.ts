import { createHash, randomInt } from "node:crypto";
import { z } from "zod";
import { ApiError, conflict, notFound } from "../../lib/errors.js";
import { toMajor } from "../../lib/money.js";
import { sql } from "../../sql/db.js";
import { findOrder, listOrderItems, placeOrder, type OrderItemRow, type Placement } from "../../sql/queries/orders.js";
import { findPrincipal } from "../../sql/queries/users.js";
import { poke } from "../../sql/signals.js";
import { created, ok, section } from "../endpoint.js";
import { Amount, Id, IdParams, Money, text, Timestamp } from "../schemas.js";

const maxQty = 100;

const Qty = z.int().min(1).max(maxQty);

const NewOrder = z.object({
  items: z
    .array(
      z.union([z.object({ menuItemId: Id, qty: Qty }), z.object({ boxId: Id, qty: Qty })]).transform((line) => ({
        id: ("menuItemId" in line ? line.menuItemId : line.boxId).toLowerCase(),
        qty: line.qty,
      })),
    )
    .min(1)
    .max(50)
    .transform((lines) => {
      const sums = new Map<string, number>();
      for (const { id, qty } of lines) sums.set(id, (sums.get(id) ?? 0) + qty);
      return [...sums].map(([id, qty]) => ({ id, qty }));
    })
    .refine((lines) => lines.every(({ qty }) => qty <= maxQty), `must not ask for more than ${maxQty} of one item`)
    .meta({
      description: "`menuItemId` names a menu item or a box (`boxId` is a synonym); the same id twice is summed",
    }),
  totalAmount: Amount,
  partnerId: Id,
  address: text(500).optional(),
});

const IdempotencyHeaders = z.object({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, "must be 1 to 255 visible ASCII characters")
    .optional()
    .meta({ description: "makes a repeated request safe for 24 hours: the same key never makes a second order" }),
});

const OrderStatus = z.enum(["ACCEPTED", "READY", "COMPLETED", "CANCELLED", "NO_SHOW"]);
const OrderLine = z.object({ menuItemId: Id, name: z.string(), price: Money, qty: z.int() });

const OrderReceipt = z
  .object({
    orderId: Id,
    status: OrderStatus,
    estimatedReadyAt: Timestamp,
    totalAmount: Money,
    discountCents: z.int(),
    amountDue: Money,
    pickupCode: z.string().meta({ description: "the customer shows it when picking up" }),
    items: z.array(OrderLine),
  })
  .meta({ id: "OrderReceipt" });

const OrderView = z
  .object({
    ...OrderReceipt.shape,
    pickupCode: OrderReceipt.shape.pickupCode
      .nullable()
      .meta({ description: "only for the customer; null for everyone else" }),
    partnerId: Id,
    address: z.string().nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: "Order" });

const presentLine = ({ id, name, priceMinor, qty }: OrderItemRow) => ({
  menuItemId: id,
  name,
  price: toMajor(priceMinor),
  qty,
});

/** Turns what `place_order` refused into the answer for it. */
function refusal(placement: Exclude<Placement, { outcome: "PLACED" }>): ApiError {
  switch (placement.outcome) {
    case "DUPLICATE":
      return new ApiError(409, "DUPLICATE", "This Idempotency-Key has already made this order.", {
        orderId: placement.orderId,
        orderStatus: placement.orderStatus,
        estimatedReadyAt: placement.estimatedReadyAt.toISOString(),
      });
    case "KEY_REUSED":
      return conflict("This Idempotency-Key was used with another payload in the last 24 hours.");
    case "NO_BUYER":
      return new ApiError(401, "UNAUTHORIZED", "This account no longer exists.");
    case "NO_PARTNER":
      return new ApiError(400, "VALIDATION_ERROR", "partnerId: there is no such partner.", {
        errors: [{ path: "partnerId", message: "there is no such partner" }],
      });
    case "PARTNER_INACTIVE":
      return conflict("This partner does not take orders at the moment.");
    case "UNKNOWN_ITEMS":
      return new ApiError(
        400,
        "VALIDATION_ERROR",
        "items: some are not on offer by this partner (unknown, archived, hidden or expired).",
        {
          errors: placement.unknown.map((id) => ({ path: "items", message: `${id} is not on offer` })),
        },
      );
    case "WINDOW_CLOSED":
      return conflict("The pickup window closed while the order was being placed.");
    case "NOT_ENOUGH":
      return conflict("Not enough boxes are left.", {
        available: placement.available.map(({ id, available }) => ({ menuItemId: id, quantityAvailable: available })),
      });
    case "WRONG_TOTAL": {
      const expected = toMajor(placement.expectedMinor);
      return new ApiError(400, "VALIDATION_ERROR", `totalAmount: must be ${expected}.`, {
        errors: [{ path: "totalAmount", message: `must be ${expected}` }],
        expected: { totalAmount: expected, discountCents: 0, amountDue: expected },
      });
    }
  }
}

export const orders = section({ prefix: "/orders", tag: "Orders" });

orders.post(
  "/",
  {
    summary: "Place an order",
    description:
      "Takes the boxes, fixes the price and the commission and tells both sides, or changes nothing. `totalAmount` must be the sum of price × qty. " +
      "409 `CONFLICT` names what is left in `available`; 409 `DUPLICATE` carries the first order's `orderId`.",
    auth: "USER",
    headers: IdempotencyHeaders,
    body: NewOrder,
    answers: { 201: OrderReceipt },
    errors: ["409 CONFLICT", "409 DUPLICATE"],
  },
  async ({ user, body, headers, requestId }) => {
    const { items, partnerId, totalAmount: totalMinor, address = null } = body;
    const key = headers["idempotency-key"];
    const pickupCode = String(randomInt(1_000_000)).padStart(6, "0");
    const fingerprint = createHash("sha256").update(JSON.stringify({ items, partnerId, totalMinor, address })).digest();
    const placement = await placeOrder(sql, {
      userId: user.id,
      partnerId,
      items,
      totalMinor,
      address,
      idempotency: key === undefined ? null : { key, fingerprint },
      pickupCode,
      requestId,
    });
    if (placement.outcome !== "PLACED") throw refusal(placement);
    poke("staged_jobs");
    const receipt = {
      orderId: placement.orderId,
      status: placement.status,
      estimatedReadyAt: placement.estimatedReadyAt.toISOString(),
      totalAmount: toMajor(placement.totalMinor),
      discountCents: 0,
      amountDue: toMajor(placement.totalMinor),
      pickupCode,
      items: placement.items.map(presentLine),
    };
    return created(receipt, `/api/v1/orders/${placement.orderId}`);
  },
);

orders.get(
  "/:id",
  {
    summary: "Read an order",
    description: "For its customer, its partner and admins; anyone else gets 404.",
    auth: "USER",
    params: IdParams,
    answers: { 200: OrderView },
  },
  async ({ user, params }) => {
    let order = await findOrder(sql, params.id, user.id);
    if (!order && (await findPrincipal(sql, user.id))?.isAdmin) order = await findOrder(sql, params.id, user.id, true);
    if (!order) throw notFound("This order");
    const items = await listOrderItems(sql, order.id);
    return ok({
      orderId: order.id,
      partnerId: order.partnerId,
      status: order.status,
      address: order.address,
      totalAmount: toMajor(order.totalMinor),
      discountCents: order.discountMinor,
      amountDue: toMajor(order.amountDueMinor),
      pickupCode: order.userId === user.id ? order.pickupCode : null,
      estimatedReadyAt: order.estimatedReadyAt.toISOString(),
      createdAt: order.createdAt.toISOString(),
      items: items.map(presentLine),
    });
  },
);
