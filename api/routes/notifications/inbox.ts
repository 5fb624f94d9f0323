import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { isNotificationKind, notificationKinds, textOf } from "../../../lib/domain/notification-kinds.js";
import type { Facts } from "../../../lib/domain/notification-texts.js";
import { config } from "../../../lib/process/config.js";
import { sql } from "../../../sql/db.js";
import { listDeliveries } from "../../../sql/queries/deliveries.js";
import {
  factsOf,
  listNotifications,
  listNotificationsForSupport,
  updateRead,
  type NotificationRow,
} from "../../../sql/queries/notifications.js";
import { ok, section } from "../../http/endpoint.js";
import { notFound } from "../../http/refusals.js";
import { page, PageQuery } from "../../http/pagination.js";
import { Id, QueryFlag, Timestamp } from "../../http/schemas.js";

const kinds = Object.keys(notificationKinds).filter(isNotificationKind);
const exampleFacts: Facts = {
  partner: "Corner bakery",
  zone: config.DEFAULT_TIMEZONE,
  box: "Evening box",
  items: 2,
  priceMinor: 49_980,
  currency: config.CURRENCY,
  pickupFrom: null,
  pickupUntil: null,
  points: 120,
  level: "SILVER",
  rating: 5,
  campaign: "Summer without waste",
  endpoint: "hooks.example.com",
};
const explained = kinds.map((kind) => {
  const { title, body } = textOf(kind, "en-GB", exampleFacts);
  return `- \`${kind}\`, to ${notificationKinds[kind].audience}s: **${title}** ${body}`;
});
const NotificationKind = z.enum(kinds).meta({
  id: "NotificationKind",
  description: `What happened. Each kind with its audience and an example of its text:\n\n${explained.join("\n")}`,
  example: "ORDER_ACCEPTED",
});
const Kind = z.union([NotificationKind, z.string()]).meta({
  description: "what happened; an app shows other kinds, of another release, by `title` and `body` alone",
  example: "ORDER_ACCEPTED",
});
const Status = z.enum(enums.notificationStatus).meta({
  description:
    "its progress to the user's devices: DEFERRED waits for the end of quiet hours or for a push service; DROPPED was not " +
    "sent because the user has no device or does not want it, or because it was too late",
});

const Notification = z
  .object({
    id: Id,
    kind: Kind,
    title: z.string().meta({ description: "in the user's language", example: "Заказ принят" }),
    body: z.string().meta({ example: "«Булочная на углу» ждёт вас с 18:30." }),
    status: Status,
    orderId: Id.nullable(),
    partnerId: Id.nullable(),
    boxId: Id.nullable(),
    createdAt: Timestamp,
    readAt: Timestamp.nullable().meta({ description: "null until it is read" }),
  })
  .meta({ id: "Notification" });

export const notifications = section({ prefix: "/notifications", tag: "Notifications" });

/** The text is made from the current rows, so it may differ from the push. */
function present(row: NotificationRow): z.output<typeof Notification> {
  const { id, kind, status, locale, orderId, partnerId, boxId, createdAt, readAt } = row;
  return {
    id,
    kind,
    ...(isNotificationKind(kind) ? textOf(kind, locale, factsOf(row)) : { title: "", body: "" }),
    status,
    orderId,
    partnerId,
    boxId,
    createdAt,
    readAt,
  };
}

notifications.get(
  "/",
  {
    name: "listNotifications",
    summary: "List your notifications, newest first",
    auth: "USER",
    query: PageQuery.extend({ unread: QueryFlag.prefault("false") }),
    answers: { 200: z.array(Notification) },
  },
  ({ user, query, address }) =>
    page(address, query, (after, limit) => listNotifications(sql, user.id, query.unread, after, limit), present),
);

notifications.post(
  "/read",
  {
    name: "markNotificationsRead",
    summary: "Mark your notifications as read",
    description: "Some by their ids, or all up to one, or both. A read notification stays read.",
    auth: "USER",
    body: z
      .object({
        ids: z.array(Id).min(1).max(200),
        upTo: Id.meta({
          description: "this one and all older ones",
          example: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f",
        }),
      })
      .partial()
      .refine(({ ids, upTo }) => ids !== undefined || upTo !== undefined, "must have ids, upTo or both"),
    answers: { 200: z.object({ read: z.int().meta({ description: "how many were not read before" }) }) },
  },
  async ({ user, body: { ids = [], upTo = null } }) => ok({ read: await updateRead(sql, user.id, { ids, upTo }) }),
);

notifications.get(
  "/vapid-public-key",
  {
    name: "readWebPushKey",
    summary: "Read the public key for Web Push subscriptions",
    description: "For `applicationServerKey` of `PushManager.subscribe()`, in base64url.",
    auth: "ANYONE",
    shared: "setting",
    answers: { 200: z.object({ publicKey: z.string() }) },
    errors: [notFound],
  },
  () => {
    if (!config.VAPID) throw notFound("A key for Web Push");
    return Promise.resolve(ok({ publicKey: config.VAPID.publicKey }));
  },
);

const Delivery = z
  .object({
    deviceId: Id,
    platform: z.enum(enums.devicePlatform),
    status: z.enum(enums.deliveryStatus).meta({
      description:
        "UNKNOWN: the push service may have it, so it is not sent again; LATER: it was not accepted and is tried again; " +
        "GONE: the device can no longer be reached and was deleted",
    }),
    reason: z.string().nullable(),
    attempts: z.int(),
    startedAt: Timestamp,
    endedAt: Timestamp.nullable(),
  })
  .meta({ id: "Delivery" });

const SupportNotification = z
  .object({
    id: Id,
    kind: Kind,
    status: Status,
    reason: z.string().nullable().meta({ description: "why it was not sent, or what it waits for" }),
    orderId: Id.nullable(),
    partnerId: Id.nullable(),
    boxId: Id.nullable(),
    createdAt: Timestamp,
    expiresAt: Timestamp.nullable().meta({ description: "null: the default of its kind" }),
    settledAt: Timestamp.nullable(),
    readAt: Timestamp.nullable(),
    deliveries: z.array(Delivery),
  })
  .meta({ id: "SupportNotification" });

export const adminNotifications = section({ prefix: "/admin/notifications", tag: "Notifications" });

adminNotifications.get(
  "/",
  {
    name: "listUserNotifications",
    summary: "List a user's notifications and their deliveries, newest first",
    auth: "ADMIN",
    query: PageQuery.extend({ userId: Id }),
    answers: { 200: z.array(SupportNotification) },
  },
  async ({ query, address }) => {
    const { body, headers } = await page(address, query, (after, limit) =>
      listNotificationsForSupport(sql, query.userId, after, limit),
    );
    const ids = body.map(({ id }) => id);
    const deliveries = await listDeliveries(sql, ids);
    const deliveriesOf = (id: string) =>
      deliveries.flatMap(({ notificationId, ...delivery }) => (notificationId === id ? [delivery] : []));
    return ok(
      body.map((row) => ({ ...row, deliveries: deliveriesOf(row.id) })),
      headers,
    );
  },
);
