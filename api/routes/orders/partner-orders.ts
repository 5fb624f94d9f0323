import { z } from "zod";
import { partnersOrderMoves } from "../../../lib/domain/order-moves.js";
import { contended, sql } from "../../../sql/db.js";
import { listOrdersOfPartner, moveOrder } from "../../../sql/queries/orders.js";
import { ok, section } from "../../http/endpoint.js";
import { page } from "../../http/pagination.js";
import { OrderState, OrderView, presentMove, presentOrder, StatusQuery } from "./presentation.js";
import { notAllowed, wrongPickupCode } from "./refusals.js";

export const partnerOrders = section({ prefix: "/partners/me/orders", tag: "Orders" });

partnerOrders.get(
  "/",
  {
    name: "listPartnerOrders",
    summary: "List your partner's orders, newest first",
    auth: "PARTNER",
    query: StatusQuery,
    answers: { 200: z.array(OrderView) },
  },
  ({ user, partner, query, address }) =>
    page(
      address,
      query,
      (after, limit) => listOrdersOfPartner(sql, partner.id, query.status, after, limit),
      (row) => presentOrder(row, user.id),
    ),
);

export const fulfilment = section({ prefix: "/orders", tag: "Orders" });

fulfilment.put(
  "/:id/status",
  {
    name: "moveOrder",
    summary: "Move an order of your partner",
    description:
      "ACCEPTED → READY → COMPLETED, ACCEPTED → COMPLETED, or CANCELLED from ACCEPTED and READY. Repeating a move changes nothing.",
    auth: "PARTNER",
    body: z.object({ status: z.enum(partnersOrderMoves) }),
    answers: { 200: OrderState },
    errors: [notAllowed],
  },
  async ({ user, partner, params: { id }, body: { status }, requestId }) => {
    const mover = { actor: "PARTNER", userId: user.id, partnerId: partner.id } as const;
    return ok(presentMove(id, await moveOrder(contended, id, status, mover, { requestId })));
  },
);

fulfilment.post(
  "/:id/pickup",
  {
    name: "handOverOrder",
    summary: "Hand over an order of your partner",
    description: "Completes the order, by the code that the customer shows.",
    auth: "PARTNER",
    body: z.object({ pickupCode: z.string().regex(/^\d{6}$/, "must be 6 digits") }),
    answers: { 200: OrderState },
    errors: [wrongPickupCode, notAllowed],
  },
  async ({ user, partner, params: { id }, body: { pickupCode }, requestId }) => {
    const mover = { actor: "PARTNER", userId: user.id, partnerId: partner.id } as const;
    return ok(presentMove(id, await moveOrder(contended, id, "COMPLETED", mover, { pickupCode, requestId })));
  },
);
