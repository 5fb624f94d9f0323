import { english, languageOf, russian, type Facts } from "./notification-texts.js";
import type { OrderStatus } from "./order-moves.js";

type Expiry = { readonly hours: number } | { readonly at: "pickupFrom" | "pickupUntil"; readonly orHours: number };
type Condition = "ALWAYS" | { readonly order: readonly OrderStatus[] } | { readonly box: "ON_OFFER" };

interface Kind {
  readonly audience: "customer" | "partner" | "admin";
  /** It is sent only while this preference is on. */
  readonly preference: "push" | "marketing";
  /**
   * What must still be true when it is sent, or it is dropped; a large audience is not even listed. Each kind states it, even
   * `ALWAYS`.
   */
  readonly sentWhile: Condition;
  readonly urgency: "low" | "normal" | "high";
  /** When it is no longer useful. */
  readonly expiry: Expiry;
  /** A device shows only the latest notification of a group about one subject. At most 9 letters. */
  readonly group: string;
  readonly ru: (facts: ReturnType<typeof russian>) => readonly [title: string, body: string];
  readonly en: (facts: ReturnType<typeof english>) => readonly [title: string, body: string];
}

const toCustomer = { audience: "customer", preference: "push", urgency: "high", group: "order" } as const;
const toPartner = { audience: "partner", preference: "push", urgency: "high", group: "sale" } as const;
/** When the pickup window ends. */
const atPickupEnd = { at: "pickupUntil", orHours: 24 } as const;

/** The order has not been picked up yet. */
const orderIsOpen = { order: ["ACCEPTED", "READY"] } as const;

/** The box can be ordered. */
const boxIsOnOffer = { box: "ON_OFFER" } as const;

/** News that can wait and stays true. */
const news = { sentWhile: "ALWAYS", urgency: "normal", expiry: { hours: 72 } } as const;
const aboutPartner = { ...toPartner, sentWhile: "ALWAYS", group: "partner", expiry: { hours: 168 } } as const;
const toAdmin = {
  audience: "admin",
  sentWhile: "ALWAYS",
  preference: "push",
  urgency: "normal",
  expiry: { hours: 168 },
} as const;
/** Events are not sent to other systems any more, or are again. */
const webhookStopped = {
  group: "webhook",
  ru: ({ endpoint }: ReturnType<typeof russian>) =>
    [
      "События не доходят",
      `${endpoint} не принимает их, и мы больше не шлём. Исправьте сервер и включите снова.`,
    ] as const,
  en: ({ endpoint }: ReturnType<typeof english>) =>
    [
      "Events do not arrive",
      `${endpoint} does not take them, and we send no more. Mend it, and enable it again.`,
    ] as const,
};
const webhookBack = {
  group: "webhook",
  ru: ({ endpoint }: ReturnType<typeof russian>) => ["События снова доходят", `${endpoint} принимает их.`] as const,
  en: ({ endpoint }: ReturnType<typeof english>) => ["Events arrive again", `${endpoint} takes them.`] as const,
};
const aboutOffer = {
  audience: "customer",
  preference: "marketing",
  urgency: "low",
  group: "box",
  expiry: atPickupEnd,
} as const;

/**
 * Every kind of notification: when it may be sent, and its text. A new kind is a new entry here, and in `recipientsOf`
 * (`sql/queries/recipients.ts`) under the event that it belongs to.
 */
export const notificationKinds = {
  ORDER_ACCEPTED: {
    ...toCustomer,
    sentWhile: orderIsOpen,
    expiry: atPickupEnd,
    ru: ({ partner, time }) => ["Заказ принят", `${partner} ждёт вас${time ? ` с ${time}` : ""}.`],
    en: ({ partner, time }) => ["Order accepted", `${partner} expects you${time ? ` from ${time}` : ""}.`],
  },
  ORDER_READY: {
    ...toCustomer,
    sentWhile: { order: ["READY"] },
    expiry: atPickupEnd,
    ru: ({ partner }) => ["Заказ готов", `${partner}: можно забирать.`],
    en: ({ partner }) => ["Order ready", `${partner}: come and pick it up.`],
  },
  ORDER_CANCELLED: {
    ...toCustomer,
    sentWhile: "ALWAYS",
    expiry: { hours: 24 },
    ru: ({ partner }) => ["Заказ отменён", `${partner}: ваш заказ отменён.`],
    en: ({ partner }) => ["Order cancelled", `${partner}: your order was cancelled.`],
  },
  ORDER_NO_SHOW: {
    ...toCustomer,
    sentWhile: "ALWAYS",
    urgency: "normal",
    expiry: { hours: 24 },
    ru: ({ partner }) => ["Заказ не забрали", `${partner}: время, чтобы забрать заказ, вышло.`],
    en: ({ partner }) => ["Order not picked up", `${partner}: the time to pick up your order is over.`],
  },
  PICKUP_SOON: {
    ...toCustomer,
    sentWhile: orderIsOpen,
    expiry: { at: "pickupFrom", orHours: 1 },
    ru: ({ partner, time }) => ["Скоро забирать заказ", `${partner}${time ? `: можно с ${time}` : ""}.`],
    en: ({ partner, time }) => ["Pick up your order soon", `${partner}${time ? `: from ${time}` : ""}.`],
  },
  POINTS_EARNED: {
    ...toCustomer,
    ...news,
    group: "points",
    ru: ({ points, partner }) => [`+${points}`, `${partner}: спасибо за спасённую еду!`],
    en: ({ points, partner }) => [`+${points}`, `${partner}: thank you for saving food!`],
  },
  FRIEND_CAME: {
    ...toCustomer,
    ...news,
    group: "points",
    ru: ({ points }) => [`+${points}`, "За друга, который забрал первый заказ."],
    en: ({ points }) => [`+${points}`, "For a friend who picked up their first order."],
  },
  LEVEL_REACHED: {
    ...toCustomer,
    ...news,
    group: "level",
    expiry: { hours: 168 },
    ru: ({ level }) => ["Новый уровень", `Теперь у вас ${level} уровень.`],
    en: ({ level }) => ["A new level", `You have reached the ${level} level.`],
  },
  REVIEW_APPROVED: {
    ...toCustomer,
    ...news,
    group: "review",
    ru: ({ partner }) => ["Отзыв одобрен", `${partner}: ваш отзыв видят все.`],
    en: ({ partner }) => ["Review approved", `${partner}: everyone can see your review.`],
  },
  REVIEW_REJECTED: {
    ...toCustomer,
    ...news,
    group: "review",
    ru: ({ partner }) => ["Отзыв отклонён", `${partner}: ваш отзыв не опубликован.`],
    en: ({ partner }) => ["Review rejected", `${partner}: your review is not published.`],
  },
  DATA_EXPORT_READY: {
    ...toCustomer,
    ...news,
    group: "export",
    ru: () => ["Ваши данные готовы", "Файл можно скачать в течение трёх дней."],
    en: () => ["Your data is ready", "The file can be downloaded for three days."],
  },
  FAVORITE_LISTED: {
    ...aboutOffer,
    sentWhile: boxIsOnOffer,
    ru: ({ partner, box, price }) => [`Новый бокс: ${partner}`, `${box} за ${price}.`],
    en: ({ partner, box, price }) => [`A new box: ${partner}`, `${box} for ${price}.`],
  },
  BOX_BACK: {
    ...aboutOffer,
    sentWhile: boxIsOnOffer,
    ru: ({ partner, box, price }) => ["Снова в наличии", `${box} за ${price}, ${partner}.`],
    en: ({ partner, box, price }) => ["Back again", `${box} for ${price}, ${partner}.`],
  },
  BOX_CHEAPER: {
    ...aboutOffer,
    sentWhile: boxIsOnOffer,
    ru: ({ partner, box, price }) => ["Цена снижена", `${box} теперь за ${price}, ${partner}.`],
    en: ({ partner, box, price }) => ["Price dropped", `${box} is now ${price}, ${partner}.`],
  },
  NEW_ORDER: {
    ...toPartner,
    sentWhile: orderIsOpen,
    expiry: atPickupEnd,
    ru: ({ items, price }) => ["Новый заказ", `${items} на ${price}.`],
    en: ({ items, price }) => ["New order", `${items}, ${price}.`],
  },
  ORDER_CANCELLED_BY_CUSTOMER: {
    ...toPartner,
    sentWhile: "ALWAYS",
    expiry: atPickupEnd,
    ru: ({ items, price }) => ["Клиент отменил заказ", `${items} на ${price}.`],
    en: ({ items, price }) => ["A customer cancelled", `${items}, ${price}.`],
  },
  REVIEW_RECEIVED: {
    ...toPartner,
    ...news,
    group: "review",
    ru: ({ partner, stars }) => ["Новый отзыв", `${partner}: ${stars}.`],
    en: ({ partner, stars }) => ["New review", `${partner}: ${stars}.`],
  },
  PARTNER_OWNED: {
    ...aboutPartner,
    ru: ({ partner }) => ["Магазин ваш?", `${partner}: указан ваш номер. Если магазин не ваш, откажитесь от него.`],
    en: ({ partner }) => [
      "Is this your shop?",
      `${partner} was registered with your phone. If it is not yours, decline it.`,
    ],
  },
  PARTNER_APPROVED: {
    ...aboutPartner,
    ru: ({ partner }) => ["Заявка одобрена", `${partner}: можно размещать боксы.`],
    en: ({ partner }) => ["You are in", `${partner} can list boxes now.`],
  },
  PARTNER_REJECTED: {
    ...aboutPartner,
    ru: ({ partner }) => ["Заявка отклонена", `${partner}: причину скажет поддержка.`],
    en: ({ partner }) => ["Registration rejected", `${partner}: our support can tell you why.`],
  },
  PARTNER_SUSPENDED: {
    ...aboutPartner,
    ru: ({ partner }) => ["Магазин приостановлен", `${partner}: боксы сейчас не видны клиентам.`],
    en: ({ partner }) => ["Shop suspended", `${partner}: customers do not see your boxes now.`],
  },
  WEBHOOK_STOPPED: { ...aboutPartner, ...webhookStopped },
  WEBHOOK_BACK: { ...aboutPartner, ...webhookBack },
  PLATFORM_WEBHOOK_STOPPED: { ...toAdmin, ...webhookStopped },
  PLATFORM_WEBHOOK_BACK: { ...toAdmin, ...webhookBack },
  STATEMENT_READY: {
    ...toPartner,
    ...news,
    group: "statement",
    expiry: { hours: 168 },
    ru: ({ partner }) => ["Отчёт готов", `${partner}: итоги и сумма к расчёту.`],
    en: ({ partner }) => ["Your statement is ready", `${partner}: the totals, and what is owed.`],
  },
  CAMPAIGN_COMPLETED: {
    ...toAdmin,
    group: "campaign",
    ru: ({ campaign }) => ["Кампания завершена", `${campaign}: баннеры больше не показываются.`],
    en: ({ campaign }) => ["Campaign completed", `${campaign}: its banners are not shown any more.`],
  },
} as const satisfies Record<string, Kind>;

export type NotificationKind = keyof typeof notificationKinds;

/** A kind that is sent only to users who want marketing. */
export type MarketingKind = {
  [Name in NotificationKind]: (typeof notificationKinds)[Name]["preference"] extends "marketing" ? Name : never;
}[NotificationKind];

export const isNotificationKind = (kind: string): kind is NotificationKind => Object.hasOwn(notificationKinds, kind);

/** Returns a notification's title and body in the language of a locale. */
export function textOf(kind: NotificationKind, locale: string | null, facts: Facts): { title: string; body: string } {
  const { ru, en }: Kind = notificationKinds[kind];
  const [title, body] = languageOf(locale) === "ru" ? ru(russian(facts)) : en(english(facts));
  return { title, body };
}

/** Returns when a notification that was created at `since` expires. */
export function expiryOf(kind: NotificationKind, since: Date, facts: Pick<Facts, "pickupFrom" | "pickupUntil">): Date {
  const { expiry }: Kind = notificationKinds[kind];
  const hours = "hours" in expiry ? expiry.hours : expiry.orHours;
  const named = "at" in expiry ? facts[expiry.at] : null;
  return named ?? new Date(since.getTime() + hours * 3_600_000);
}

/** Returns why a notification must not be sent in the current state of its order or box; null when it may be. */
export function unmetCondition(
  kind: NotificationKind,
  { orderStatus, onOffer }: { orderStatus: OrderStatus | null; onOffer: boolean | null },
): string | null {
  const { sentWhile }: Kind = notificationKinds[kind];
  if (sentWhile === "ALWAYS") return null;
  if ("box" in sentWhile) return onOffer === false ? "the box is not on offer" : null;
  return orderStatus === null || sentWhile.order.includes(orderStatus) ? null : `the order is ${orderStatus}`;
}

/** Returns the key by which a later notification about the subject replaces this one; at most 32 characters. */
export const collapseKeyOf = (kind: NotificationKind, subjectId: string): string =>
  `${notificationKinds[kind].group}-${Buffer.from(subjectId.replaceAll("-", ""), "hex").toString("base64url")}`;
