import { z } from "zod";
import { sql } from "../../sql/db.js";
import { listNotifications } from "../../sql/queries/notifications.js";
import { ok, section } from "../endpoint.js";
import { page, PageQuery } from "../pagination.js";
import { Id, Timestamp } from "../schemas.js";

const Notification = z
  .object({
    id: Id,
    kind: z.string().meta({ description: "what happened", example: "ORDER_ACCEPTED" }),
    status: z.enum(["QUEUED", "DEFERRED", "SENT", "FAILED", "DROPPED"]),
    orderId: Id.nullable(),
    partnerId: Id.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: "Notification" });

export const notifications = section({ prefix: "/notifications", tag: "Notifications" });

notifications.get(
  "/",
  {
    summary: "List the own notifications, newest first",
    auth: "USER",
    query: PageQuery,
    answers: { 200: z.array(Notification) },
  },
  async ({ user, query, address }) => {
    const { rows, headers } = await page(address, query, (after, limit) =>
      listNotifications(sql, user.id, after, limit),
    );
    return ok(
      rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() })),
      headers,
    );
  },
);
