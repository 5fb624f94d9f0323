import type { LoyaltyLevel } from "./loyalty-level.js";
import { toMajor, type Minor } from "./money.js";
import { memoize } from "./memoize.js";

/** What a notification's text may mention, as of now; null where it does not apply. */
export interface Facts {
  /** The partner's name. */
  partner: string | null;
  /** The partner's time zone. */
  zone: string;
  /** The box's title. */
  box: string | null;
  /** How many items the order has. */
  items: number | null;
  /** The price of the order or box. */
  priceMinor: Minor | null;
  currency: string;
  /** The pickup window of the order or box. */
  pickupFrom: Date | null;
  pickupUntil: Date | null;
  /** Loyalty points that were earned. */
  points: number | null;
  level: LoyaltyLevel | null;
  /** A review's stars, 1 to 5. */
  rating: number | null;
  /** An advertising campaign's name. */
  campaign: string | null;
  /** The host of a webhook endpoint. */
  endpoint: string | null;
}

export type Language = "ru" | "en";

/** Returns the language for a locale: Russian unless it is English. */
export const languageOf = (locale: string | null): Language => (locale?.startsWith("en") ? "en" : "ru");

/** Characters; longer names are cut, as this is enough to recognise one. */
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
  memoize(
    (currency) =>
      new Intl.NumberFormat(language, { style: "currency", currency, trailingZeroDisplay: "stripIfInteger" }),
  );
const clockFormats = (language: Language) =>
  memoize(
    (timeZone) => new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone }),
  );
const formats = {
  ru: { money: moneyFormats("ru"), clock: clockFormats("ru") },
  en: { money: moneyFormats("en"), clock: clockFormats("en") },
};

/** Returns the facts formatted for Russian texts, with a word for what is missing. */
export const russian = (facts: Facts) => ({
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
  endpoint: quoted("ru", facts.endpoint, "ваш сервер"),
});

/** Returns the facts formatted for English texts, with a word for what is missing. */
export const english = (facts: Facts) => ({
  ...words("en", facts),
  partner: quoted("en", facts.partner, "The shop"),
  box: quoted("en", facts.box, "The box"),
  items: counted("en", facts.items ?? 1, { one: "item", other: "items" }),
  points: counted("en", facts.points ?? 0, { one: "point", other: "points" }),
  level: { BRONZE: "bronze", SILVER: "silver", GOLD: "gold", PLATINUM: "platinum" }[facts.level ?? "BRONZE"],
  stars: counted("en", facts.rating ?? 5, { one: "star", other: "stars" }),
  campaign: quoted("en", facts.campaign, "Your campaign"),
  endpoint: quoted("en", facts.endpoint, "your server"),
});

function words(language: Language, { zone, pickupFrom, priceMinor, currency }: Facts) {
  const { money, clock } = formats[language];
  return {
    price: money(currency).format(toMajor(priceMinor ?? 0)),
    time: pickupFrom ? clock(zone).format(pickupFrom) : null,
  };
}
