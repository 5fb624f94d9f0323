import { buffer } from "node:stream/consumers";
import { expect, test } from "@jest/globals";
import { addDays } from "../../../lib/domain/days.js";
import { statementDocument, type PrintedStatement } from "../../../lib/statements/statement-document.js";
import { statementWords } from "../../../lib/statements/statement-words.js";
import { textOfPdf } from "../../support/pdf-text.js";

const statement: PrintedStatement = {
  language: "ru",
  number: 4_711,
  partner: "Пекарня «Ёлка»",
  month: "2026-05-01",
  firstDay: "2026-05-01",
  lastDay: "2026-05-31",
  zone: "Europe/Moscow",
  currency: "RUB",
  createdAt: new Date("2026-05-31T21:20:00Z"),
  orders: 1_204,
  salesMinor: 12_345_678,
  tillMinor: 12_000_000,
  ownPromoMinor: 45_678,
  platformPromoMinor: 300_000,
  commissionMinor: 1_800_001,
  earlierMinor: -150,
  correctionsMinor: 5_000,
  payoutsMinor: 900_000,
  openingMinor: -900_000,
  closingMinor: -1_495_151,
  days: [{ day: "2026-05-31", orders: 40, salesMinor: 410_000, commissionMinor: 61_500 }],
  manual: [{ at: new Date("2026-05-20T09:00:00Z"), amountMinor: 5_000, reference: "C-17", reason: "Двойной заказ" }],
  hasMoreManual: false,
};

const print = async (changes: Partial<PrintedStatement> = {}) =>
  buffer(statementDocument({ ...statement, ...changes }));

test("a document has the partner's name, the month and the figures, in Russian", async () => {
  const pdf = await print();
  expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
  const text = textOfPdf(pdf);
  for (const shown of [
    "Отчёт № 4711",
    "Пекарня «Ёлка»",
    "май 2026",
    "123 456,78 ₽",
    "-18 000,01 ₽",
    "Партнёр должен платформе 14 951,51 ₽.",
    "C-17: Двойной заказ",
    "31 мая 2026",
  ])
    expect(text).toContain(shown);
  expect(text).not.toContain("?");
});

test("an extract has its own series of numbers and its days, and nothing that came late", async () => {
  const text = textOfPdf(await print({ month: null, firstDay: "2026-05-05", lastDay: "2026-05-20", earlierMinor: 0 }));
  expect(text).toContain("Выписка № 4711");
  expect(text).toMatch(/5[-–]20 мая 2026/);
  expect(text).not.toContain("Отчёт №");
  expect(text).not.toContain("Заказы прошлых месяцев");
  expect(text).toContain("Расчётов она не меняет");
});

test("it was made on the day that it is in the statement's zone", async () => {
  expect(textOfPdf(await print())).toContain("1 июн. 2026");
});

test("in English it says who owes whom", async () => {
  const owing = async (closingMinor: number) => textOfPdf(await print({ language: "en", closingMinor }));
  expect(await owing(-100)).toContain("The partner owes the platform");
  expect(await owing(100)).toContain("The platform owes the partner");
  expect(await owing(0)).toContain("Nothing is owed.");
});

test("nothing has no sign", async () => {
  const nothing = { commissionMinor: 0, earlierMinor: 0, openingMinor: 0, closingMinor: 0 };
  const text = textOfPdf(await print(nothing));
  expect(text).toContain("0,00 ₽");
  expect(text).not.toContain("-0,00 ₽");
});

test("the same statement gives the same bytes", async () => {
  expect((await print()).equals(await print())).toBe(true);
});

test("a long list goes on on further pages, and long reasons are cut", async () => {
  const manual = Array.from({ length: 100 }, (_, n) => ({
    at: statement.createdAt,
    amountMinor: n,
    reference: `C-${n}`,
    reason: "ж".repeat(500),
  }));
  const pdf = await print({ manual });
  expect(pdf.toString("latin1").match(/\/Type \/Page\n/g)?.length).toBeGreaterThan(3);
  const text = textOfPdf(pdf).replaceAll("\n", "");
  expect(text).toContain("C-99: жж");
  expect(text).not.toContain("ж".repeat(121));
  expect(text).not.toContain("Здесь первые");
});

test("who gets a part of the payments is told so", async () => {
  expect(textOfPdf(await print({ hasMoreManual: true }))).toContain("Здесь первые 1.");
});

test("each page says which of how many it is, and only as many pages come as have something on them", async () => {
  expect(textOfPdf(await print())).toContain("Отчёт № 4711, страница 1 из 1");
  const days = Array.from({ length: 366 }, (_, n) => ({
    day: addDays("2026-01-01", n),
    orders: n,
    salesMinor: 1_000 * n,
    commissionMinor: 150 * n,
  }));
  const text = textOfPdf(await print({ month: null, lastDay: "2027-01-01", days }));
  const [, count = ""] = /страница 1 из (\d+)/.exec(text) ?? [];
  expect(Number(count)).toBeGreaterThan(5);
  for (let page = 1; page <= Number(count); page += 1)
    expect(text).toContain(`Выписка № 4711, страница ${page} из ${count}`);
});

test("every text is there in both languages", () => {
  expect(Object.keys(statementWords.ru)).toEqual(Object.keys(statementWords.en));
});
