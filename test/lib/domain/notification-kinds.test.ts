import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  collapseKeyOf,
  expiryOf,
  isNotificationKind,
  notificationKinds,
  textOf,
  unmetCondition,
  type NotificationKind,
} from "../../../lib/domain/notification-kinds.js";
import { languageOf, type Facts } from "../../../lib/domain/notification-texts.js";

const facts: Facts = {
  partner: "Пекарня",
  zone: "Europe/Moscow",
  box: "Вечерний бокс",
  items: 2,
  priceMinor: 24_990,
  currency: "RUB",
  pickupFrom: new Date("2026-03-10T15:30:00Z"),
  pickupUntil: new Date("2026-03-10T17:00:00Z"),
  points: 25,
  level: "GOLD",
  rating: 5,
  campaign: "Лето",
  endpoint: "example.com",
};
const nothing: Facts = {
  ...facts,
  partner: null,
  box: null,
  items: null,
  priceMinor: null,
  pickupFrom: null,
  pickupUntil: null,
  points: null,
  level: null,
  rating: null,
  campaign: null,
  endpoint: null,
};
const kinds = Object.keys(notificationKinds).filter(isNotificationKind);
/** Replaces non-breaking spaces by ordinary ones. */
const plain = (kind: NotificationKind, locale: string | null, changes: Partial<Facts> = {}) => {
  const { title, body } = textOf(kind, locale, { ...facts, ...changes });
  return `${title} | ${body}`.replace(/[\u00a0\u202f]/g, " ");
};

test.each([
  ["ru-RU", "ru"],
  ["en-US", "en"],
  ["en-GB", "en"],
  ["kk-KZ", "ru"],
  [null, "ru"],
])("texts for the locale %s are in %s", (locale, language) => {
  expect(languageOf(locale)).toBe(language);
});

describe.each(kinds)("%s", (kind) => {
  test("has a text in both languages", () => {
    const [ru, en] = [
      plain(kind, "ru-RU", { partner: "Пекарня" }),
      plain(kind, "en-US", { partner: "B", box: "C", campaign: "D" }),
    ];
    expect(ru).toMatch(/[а-яё]/i);
    expect(en).toMatch(/[a-z]/i);
    expect(en).not.toMatch(/[а-яё]/i);
  });

  test.each([
    ["with all facts", facts],
    ["without facts", nothing],
  ])("has a complete text %s", (_case, given) => {
    for (const locale of ["ru-RU", "en-US"]) {
      const { title, body } = textOf(kind, locale, given);
      for (const text of [title, body]) {
        expect(text).toMatch(/\S/);
        expect(text).not.toMatch(/undefined|null|NaN|\[object| {2}|«»|“”/);
      }
    }
  });

  test("has an audience, a preference, an expiry and a group", () => {
    const { audience, preference, expiry, group } = notificationKinds[kind];
    expect(["customer", "partner", "admin"]).toContain(audience);
    if (preference === "marketing") expect(audience).toBe("customer");
    expect("hours" in expiry ? expiry.hours : expiry.orHours).toBeGreaterThan(0);
    expect(group).toMatch(/^[a-z]{1,9}$/);
    expect(collapseKeyOf(kind, "ffffffff-ffff-7fff-bfff-ffffffffffff")).toMatch(/^[\w-]{1,32}$/);
  });

  test("fits into a push message even with the longest names", () => {
    const name = fc.string({
      unit: fc.constantFrom("a", "я", "😀", '"', "\u0001", "\\"),
      minLength: 1,
      maxLength: 400,
    });
    fc.assert(
      fc.property(name, name, fc.constantFrom("ru-RU", "en-US"), (partner, box, locale) => {
        const text = textOf(kind, locale, { ...facts, partner, box });
        // the rest of the payload is ids of a few hundred bytes
        expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(3_000);
        expect(text.title.isWellFormed() && text.body.isWellFormed()).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});

describe("the form of a noun after a number:", () => {
  test.each([
    [1, "1 позиция на", "1 item,"],
    [2, "2 позиции на", "2 items,"],
    [5, "5 позиций на", "5 items,"],
    [11, "11 позиций на", "11 items,"],
    [21, "21 позиция на", "21 items,"],
    [22, "22 позиции на", "22 items,"],
    [1_001, "1 001 позиция на", "1,001 items,"],
  ])("%d items", (items, ru, en) => {
    expect(plain("NEW_ORDER", "ru-RU", { items })).toContain(ru);
    expect(plain("NEW_ORDER", "en-US", { items })).toContain(en);
    expect(plain("ORDER_CANCELLED_BY_CUSTOMER", "ru-RU", { items })).toContain(ru);
  });

  test.each([
    [1, "+1 балл", "+1 point"],
    [2, "+2 балла", "+2 points"],
    [5, "+5 баллов", "+5 points"],
    [21, "+21 балл", "+21 points"],
  ])("%d points", (points, ru, en) => {
    expect(textOf("POINTS_EARNED", "ru-RU", { ...facts, points }).title).toBe(ru);
    expect(textOf("POINTS_EARNED", "en-US", { ...facts, points }).title).toBe(en);
  });

  test.each([
    [1, "1 звезда.", "1 star."],
    [2, "2 звезды.", "2 stars."],
    [5, "5 звёзд.", "5 stars."],
  ])("%d stars", (rating, ru, en) => {
    expect(plain("REVIEW_RECEIVED", "ru-RU", { rating })).toContain(ru);
    expect(plain("REVIEW_RECEIVED", "en-US", { rating })).toContain(en);
  });
});

test("prices are formatted for the language", () => {
  expect(plain("FAVORITE_LISTED", "ru-RU")).toBe("Новый бокс: «Пекарня» | «Вечерний бокс» за 249,90 ₽.");
  expect(plain("FAVORITE_LISTED", "ru-RU", { priceMinor: 25_000 })).toContain("за 250 ₽.");
  expect(plain("FAVORITE_LISTED", "en-US", { currency: "USD" })).toContain("for $249.90.");
});

test("times are in the partner's time zone", () => {
  expect(plain("PICKUP_SOON", "ru-RU")).toBe("Скоро забирать заказ | «Пекарня»: можно с 18:30.");
  expect(plain("PICKUP_SOON", "en-US", { zone: "Asia/Yekaterinburg" })).toContain("from 20:30.");
});

test("long names are shortened", () => {
  expect(plain("ORDER_READY", "ru-RU", { partner: "😀".repeat(81) })).toBe(
    `Заказ готов | «${"😀".repeat(79)}…»: можно забирать.`,
  );
});

test("a notification about a pickup expires with it, others after a time of their kind", () => {
  const since = new Date("2026-03-10T12:00:00Z");
  expect(expiryOf("PICKUP_SOON", since, facts)).toEqual(facts.pickupFrom);
  expect(expiryOf("ORDER_READY", since, facts)).toEqual(facts.pickupUntil);
  expect(expiryOf("ORDER_READY", since, nothing)).toEqual(new Date("2026-03-11T12:00:00Z"));
  expect(expiryOf("ORDER_CANCELLED", since, facts)).toEqual(new Date("2026-03-11T12:00:00Z"));
  expect(expiryOf("POINTS_EARNED", since, facts)).toEqual(new Date("2026-03-13T12:00:00Z"));
});

test("notifications about one order replace each other, but not those about another order or for its partner", () => {
  const [first, second] = ["01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002"] as const;
  expect(collapseKeyOf("ORDER_READY", first)).toBe(collapseKeyOf("ORDER_ACCEPTED", first));
  expect(collapseKeyOf("ORDER_READY", first)).not.toBe(collapseKeyOf("ORDER_READY", second));
  expect(collapseKeyOf("NEW_ORDER", first)).not.toBe(collapseKeyOf("ORDER_ACCEPTED", first));
});

test("a property that every object has is not a kind", () => {
  expect(isNotificationKind("toString")).toBe(false);
  expect(isNotificationKind("ORDER_READY")).toBe(true);
});

describe("a notification is sent only while", () => {
  const state = { orderStatus: null, onOffer: null };

  test.each([
    ["ORDER_ACCEPTED", ["ACCEPTED", "READY"]],
    ["PICKUP_SOON", ["ACCEPTED", "READY"]],
    ["NEW_ORDER", ["ACCEPTED", "READY"]],
    ["ORDER_READY", ["READY"]],
    ["ORDER_CANCELLED", ["ACCEPTED", "READY", "COMPLETED", "CANCELLED", "NO_SHOW"]],
  ] as const)("%s: its order is one of %j", (kind, statuses: readonly string[]) => {
    for (const orderStatus of ["ACCEPTED", "READY", "COMPLETED", "CANCELLED", "NO_SHOW"] as const)
      expect(unmetCondition(kind, { ...state, orderStatus })).toBe(
        statuses.includes(orderStatus) ? null : `the order is ${orderStatus}`,
      );
    expect(unmetCondition(kind, state)).toBeNull();
  });

  test.each(["FAVORITE_LISTED", "BOX_BACK", "BOX_CHEAPER"] as const)("%s: its box is on offer", (kind) => {
    expect(unmetCondition(kind, { ...state, onOffer: false })).toBe("the box is not on offer");
    expect(unmetCondition(kind, { ...state, onOffer: true })).toBeNull();
  });

  test("LEVEL_REACHED: always", () => {
    expect(unmetCondition("LEVEL_REACHED", { orderStatus: "CANCELLED", onOffer: false })).toBeNull();
  });
});
