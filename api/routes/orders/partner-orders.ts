import { z } from "zod";
import { sql } from "../../../sql/db.js";
import { listOrdersOfPartner } from "../../../sql/queries/orders.js";
import { section } from "../../http/endpoint.js";
import { page } from "../../http/pagination.js";
import { OrderView, presentOrder, StatusQuery } from "./presentation.js";

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
