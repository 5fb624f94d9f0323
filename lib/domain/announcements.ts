import type { LoyaltyLevel } from "./loyalty-level.js";
import { toMajor, type Minor } from "./money.js";
import { remembered } from "./remembered.js";

/** What an announcement may speak of, as it is when its text is made; null where it is about something else. */
export interface Facts {
  /** The partner's name. */
  partner: string | null;
  /** The zone that the partner's clock shows. */
  zone: string;
  /** The box's title. */
  box: string | null;
  /** How many things an order is for. */
  items: number | null;
  /** What an order or a box costs. */
  priceMinor: Minor | null;
  currency: string;
  /** When an order or a box can be picked up. */
  pickupFrom: Date | null;
  pickupUntil: Date | null;
  /** Loyalty points that were earned. */
  points: number | null;
  level: LoyaltyLevel | null;
  /** Of a review, 1 to 5. */
  rating: number | null;
  /** An advertising campaign's name. */
  campaign: string | null;
}

export interface Text {
  title: string;
  body: string;
}

export const languages = ["ru", "en"] as const;
export type Language = (typeof languages)[number];

/** The language that a person with this locale is spoken to in: Russian when it is unknown. */
export const languageOf = (locale: string | null): Language => (locale?.startsWith("en") ? "en" : "ru");

/** What is left of a name in a message: enough to know it by. */
const LONGEST_NAME = 80;

const shorten = (name: string) => {
  const characters = Array.from(name);
  return characters.length <= LONGEST_NAME ? name : `${characters.slice(0, LONGEST_NAME - 1).join("")}…`;
};
const quotes = { ru: ["«", "»"], en: ["“", "”"] } as const;
const quoted = (language: Language, name: string | null, otherwise: string) =>
  name ? quotes[language].join(shorten(name)) : otherwise;

const numbers = { ru: new Intl.NumberFormat("ru"), en: new Intl.NumberFormat("en") };
const rules = { ru: new Intl.PluralRules("ru"), en: new Intl.PluralRules("en") };
const counted = (language: Language, count: number, forms: Partial<Record<Intl.LDMLPluralRule, string>>) =>
  `${numbers[language].format(count)} ${forms[rules[language].select(count)] ?? ""}`;

const moneyFormats = (language: Language) =>
  remembered(
    (currency) =>
      new Intl.NumberFormat(language, { style: "currency", currency, trailingZeroDisplay: "stripIfInteger" }),
  );
const clockFormats = (language: Language) =>
  remembered(
    (timeZone) => new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone }),
  );
const formats = {
  ru: { money: moneyFormats("ru"), clock: clockFormats("ru") },
  en: { money: moneyFormats("en"), clock: clockFormats("en") },
};

/** The facts as a text uses them: in its language, with a word for what is missing. */
const russian = (facts: Facts) => ({
  ...words("ru", facts),
  partner: quoted("ru", facts.partner, "Магазин"),
  box: quoted("ru", facts.box, "Бокс"),
  items: counted("ru", facts.items ?? 1, { one: "позиция", few: "позиции", many: "позиций" }),
  points: counted("ru", facts.points ?? 0, { one: "балл", few: "балла", many: "баллов" }),
  level: { BRONZE: "бронзовый", SILVER: "серебряный", GOLD: "золотой", PLATINUM: "платиновый" }[
    facts.level ?? "BRONZE"
  ],
  stars: counted("ru", facts.rating ?? 5, { one: "звезда", few: "звезды", many: "звёзд" }),
  campaign: quoted("ru", facts.campaign, "Реклама"),
});

const english = (facts: Facts) => ({
  ...words("en", facts),
  partner: quoted("en", facts.partner, "The shop"),
  box: quoted("en", facts.box, "The box"),
  items: counted("en", facts.items ?? 1, { one: "item", other: "items" }),
  points: counted("en", facts.points ?? 0, { one: "point", other: "points" }),
  level: { BRONZE: "bronze", SILVER: "silver", GOLD: "gold", PLATINUM: "platinum" }[facts.level ?? "BRONZE"],
  stars: counted("en", facts.rating ?? 5, { one: "star", other: "stars" }),
  campaign: quoted("en", facts.campaign, "Your campaign"),
});

function words(language: Language, { zone, pickupFrom, priceMinor, currency }: Facts) {
  const { money, clock } = formats[language];
  return {
    price: money(currency).format(toMajor(priceMinor ?? 0)),
    time: pickupFrom ? clock(zone).format(pickupFrom) : null,
  };
}

type Expiry = { hours: number } | { at: "pickupFrom" | "pickupUntil"; orHours: number };

interface Announcement {
  readonly audience: "customer" | "partner" | "admin";
  /** Without this preference it is not sent. */
  readonly preference: "push" | "marketing";
  readonly urgency: "low" | "normal" | "high";
  /** When nobody needs to hear of it any more. */
  readonly expiry: Expiry;
  /** Of the announcements of one group about one subject the last one stays on the screen; at most 9 letters. */
  readonly group: string;
  readonly ru: (facts: ReturnType<typeof russian>) => readonly [title: string, body: string];
  readonly en: (facts: ReturnType<typeof english>) => readonly [title: string, body: string];
}

const toCustomer = { audience: "customer", preference: "push", urgency: "high", group: "order" } as const;
const toPartner = { audience: "partner", preference: "push", urgency: "high", group: "sale" } as const;
const marketing = { audience: "customer", preference: "marketing", urgency: "low", group: "box" } as const;
/** As long as there is something to pick up. */
const whileOpen = { at: "pickupUntil", orHours: 24 } as const;

/** Everything that people are told of. One more announcement is one more entry. */
export const announcements = {
  ORDER_ACCEPTED: {
    ...toCustomer,
    expiry: whileOpen,
    ru: ({ partner, time }) => ["Заказ принят", `${partner} ждёт вас${time ? ` с ${time}` : ""}.`],
    en: ({ partner, time }) => ["Order accepted", `${partner} expects you${time ? ` from ${time}` : ""}.`],
  },
  ORDER_READY: {
    ...toCustomer,
    expiry: whileOpen,
    ru: ({ partner }) => ["Заказ готов", `${partner}: можно забирать.`],
    en: ({ partner }) => ["Order ready", `${partner}: come and pick it up.`],
  },
  ORDER_CANCELLED: {
    ...toCustomer,
    expiry: { hours: 24 },
    ru: ({ partner }) => ["Заказ отменён", `${partner}: ваш заказ отменён.`],
    en: ({ partner }) => ["Order cancelled", `${partner}: your order was cancelled.`],
  },
  ORDER_NO_SHOW: {
    ...toCustomer,
    urgency: "normal",
    expiry: { hours: 24 },
    ru: ({ partner }) => ["Заказ не забрали", `${partner}: время, чтобы забрать заказ, вышло.`],
    en: ({ partner }) => ["Order not picked up", `${partner}: the time to pick up your order is over.`],
  },
  PICKUP_SOON: {
    ...toCustomer,
    expiry: { at: "pickupFrom", orHours: 1 },
    ru: ({ partner, time }) => ["Скоро забирать заказ", `${partner}${time ? `: можно с ${time}` : ""}.`],
    en: ({ partner, time }) => ["Pick up your order soon", `${partner}${time ? `: from ${time}` : ""}.`],
  },
  POINTS_EARNED: {
    ...toCustomer,
    urgency: "normal",
    group: "points",
    expiry: { hours: 72 },
    ru: ({ points, partner }) => [`+${points}`, `${partner}: спасибо за спасённую еду!`],
    en: ({ points, partner }) => [`+${points}`, `${partner}: thank you for saving food!`],
  },
  FRIEND_CAME: {
    ...toCustomer,
    urgency: "normal",
    group: "points",
    expiry: { hours: 72 },
    ru: ({ points }) => [`+${points}`, "За друга, который забрал первый заказ."],
    en: ({ points }) => [`+${points}`, "For a friend who picked up their first order."],
  },
  LEVEL_REACHED: {
    ...toCustomer,
    urgency: "normal",
    group: "level",
    expiry: { hours: 168 },
    ru: ({ level }) => ["Новый уровень", `Теперь у вас ${level} уровень.`],
    en: ({ level }) => ["A new level", `You have reached the ${level} level.`],
  },
  REVIEW_APPROVED: {
    ...toCustomer,
    urgency: "normal",
    group: "review",
    expiry: { hours: 72 },
    ru: ({ partner }) => ["Отзыв одобрен", `${partner}: ваш отзыв видят все.`],
    en: ({ partner }) => ["Review approved", `${partner}: everyone can see your review.`],
  },
  REVIEW_REJECTED: {
    ...toCustomer,
    urgency: "normal",
    group: "review",
    expiry: { hours: 72 },
    ru: ({ partner }) => ["Отзыв отклонён", `${partner}: ваш отзыв не опубликован.`],
    en: ({ partner }) => ["Review rejected", `${partner}: your review is not published.`],
  },
  FAVORITE_LISTED: {
    ...marketing,
    expiry: whileOpen,
    ru: ({ partner, box, price }) => [`Новый бокс: ${partner}`, `${box} за ${price}.`],
    en: ({ partner, box, price }) => [`A new box: ${partner}`, `${box} for ${price}.`],
  },
  BOX_BACK: {
    ...marketing,
    expiry: whileOpen,
    ru: ({ partner, box, price }) => ["Снова в наличии", `${box} за ${price}, ${partner}.`],
    en: ({ partner, box, price }) => ["Back again", `${box} for ${price}, ${partner}.`],
  },
  BOX_CHEAPER: {
    ...marketing,
    expiry: whileOpen,
    ru: ({ partner, box, price }) => ["Цена снижена", `${box} теперь за ${price}, ${partner}.`],
    en: ({ partner, box, price }) => ["Price dropped", `${box} is now ${price}, ${partner}.`],
  },
  NEW_ORDER: {
    ...toPartner,
    expiry: whileOpen,
    ru: ({ items, price }) => ["Новый заказ", `${items} на ${price}.`],
    en: ({ items, price }) => ["New order", `${items}, ${price}.`],
  },
  ORDER_CANCELLED_BY_CUSTOMER: {
    ...toPartner,
    expiry: whileOpen,
    ru: ({ items, price }) => ["Клиент отменил заказ", `${items} на ${price}.`],
    en: ({ items, price }) => ["A customer cancelled", `${items}, ${price}.`],
  },
  REVIEW_RECEIVED: {
    ...toPartner,
    urgency: "normal",
    group: "review",
    expiry: { hours: 72 },
    ru: ({ partner, stars }) => ["Новый отзыв", `${partner}: ${stars}.`],
    en: ({ partner, stars }) => ["New review", `${partner}: ${stars}.`],
  },
  PARTNER_APPROVED: {
    ...toPartner,
    group: "partner",
    expiry: { hours: 168 },
    ru: ({ partner }) => ["Заявка одобрена", `${partner}: можно размещать боксы.`],
    en: ({ partner }) => ["You are in", `${partner} can list boxes now.`],
  },
  PARTNER_REJECTED: {
    ...toPartner,
    group: "partner",
    expiry: { hours: 168 },
    ru: ({ partner }) => ["Заявка отклонена", `${partner}: причину скажет поддержка.`],
    en: ({ partner }) => ["Registration rejected", `${partner}: our support can tell you why.`],
  },
  PARTNER_SUSPENDED: {
    ...toPartner,
    group: "partner",
    expiry: { hours: 168 },
    ru: ({ partner }) => ["Магазин приостановлен", `${partner}: боксы сейчас не видны клиентам.`],
    en: ({ partner }) => ["Shop suspended", `${partner}: customers do not see your boxes now.`],
  },
  CAMPAIGN_COMPLETED: {
    audience: "admin",
    preference: "push",
    urgency: "normal",
    group: "campaign",
    expiry: { hours: 168 },
    ru: ({ campaign }) => ["Кампания завершена", `${campaign}: баннеры больше не показываются.`],
    en: ({ campaign }) => ["Campaign completed", `${campaign}: its banners are not shown any more.`],
  },
} as const satisfies Record<string, Announcement>;

export type AnnouncementKind = keyof typeof announcements;

export const isAnnouncementKind = (kind: string): kind is AnnouncementKind => Object.hasOwn(announcements, kind);

/** What an announcement says to a person with this locale. */
export function textOf(kind: AnnouncementKind, locale: string | null, facts: Facts): Text {
  const { ru, en }: Announcement = announcements[kind];
  const [title, body] = languageOf(locale) === "ru" ? ru(russian(facts)) : en(english(facts));
  return { title, body };
}

/** When an announcement of something that happened at `since` is of no use any more. */
export function expiryOf(kind: AnnouncementKind, since: Date, facts: Pick<Facts, "pickupFrom" | "pickupUntil">): Date {
  const { expiry }: Announcement = announcements[kind];
  const hours = "hours" in expiry ? expiry.hours : expiry.orHours;
  const named = "at" in expiry ? facts[expiry.at] : null;
  return named ?? new Date(since.getTime() + hours * 3_600_000);
}

/** What push services and devices know an announcement about this subject by: 32 characters at most. */
export const collapseKeyOf = (kind: AnnouncementKind, subjectId: string): string =>
  `${announcements[kind].group}-${Buffer.from(subjectId.replaceAll("-", ""), "hex").toString("base64url")}`;
