import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { toMajor } from "../../../lib/domain/money.js";
import type { OrderItemRow, OrderMoved, OrderRow } from "../../../sql/queries/orders.js";
import { PageQuery } from "../../http/pagination.js";
import { notFound } from "../../http/refusals.js";
import { Id, Money, shownAs, Timestamp } from "../../http/schemas.js";
import { notAllowed, tooLateToCancel, wrongPickupCode } from "./refusals.js";

export const OrderStatus = z.enum(enums.orderStatus);
const OrderLine = z.object({ menuItemId: Id, name: z.string(), price: Money, qty: z.int() });

/** What a customer gets for a new order. */
export const OrderReceipt = z
  .object({
    orderId: Id,
    status: OrderStatus,
    estimatedReadyAt: Timestamp,
    totalAmount: Money,
    discountCents: z.int(),
    amountDue: Money,
    pickupCode: z.string().meta({ description: "shown by the customer at pickup" }),
    items: z.array(OrderLine),
  })
  .meta({ id: "OrderReceipt" });

/** An order as its customer, its partner or an admin sees it. */
export const OrderView = z
  .object({
    ...OrderReceipt.shape,
    pickupCode: OrderReceipt.shape.pickupCode
      .nullable()
      .meta({ description: "only for the customer; null for other callers" }),
    partnerId: Id,
    address: z.string().nullable(),
    pickupWindowStart: Timestamp.nullable().meta({ description: "null for an order without boxes" }),
    pickupWindowEnd: Timestamp.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: "Order" });

/** A page of orders in one status, or in all of them. */
export const StatusQuery = PageQuery.extend({
  status: OrderStatus.transform((status) => [status])
    .default([...OrderStatus.options])
    .meta({ override: shownAs({ type: "string", enum: [...OrderStatus.options] }) }),
});

export const OrderState = z.object({ orderId: Id, status: OrderStatus });

export const presentLine = ({ id, name, priceMinor, qty }: OrderItemRow) => ({
  menuItemId: id,
  name,
  price: toMajor(priceMinor),
  qty,
});

export const presentOrder = (row: OrderRow, viewerId: string): z.output<typeof OrderView> => ({
  orderId: row.id,
  partnerId: row.partnerId,
  status: row.status,
  address: row.address,
  totalAmount: toMajor(row.totalMinor),
  discountCents: row.discountMinor,
  amountDue: toMajor(row.amountDueMinor),
  pickupCode: row.userId === viewerId ? row.pickupCode : null,
  pickupWindowStart: row.pickupWindowStart,
  pickupWindowEnd: row.pickupWindowEnd,
  estimatedReadyAt: row.estimatedReadyAt,
  createdAt: row.createdAt,
  items: (row.items ?? []).map(presentLine),
});

/** Presents the result of a move; throws the refusal when the order was not moved. */
export function presentMove(id: string, moved: OrderMoved | undefined): z.output<typeof OrderState> {
  switch (moved?.outcome) {
    case undefined:
      throw notFound("This order");
    case "MOVED":
    case "ALREADY":
      return { orderId: id, status: moved.status };
    case "NOT_ALLOWED":
      throw notAllowed({ orderStatus: moved.status });
    case "TOO_LATE":
      throw tooLateToCancel({ orderStatus: moved.status });
    case "WRONG_CODE":
      throw wrongPickupCode();
  }
}
