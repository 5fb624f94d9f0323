import { createRequire } from "node:module";
import type { Readable } from "node:stream";
import PDFDocument from "pdfkit";
import { toMajor, type Minor } from "../domain/money.js";
import type { Language } from "../domain/notification-texts.js";
import { statementWords } from "./statement-words.js";

/** The contents of a statement's document. */
export interface PrintedStatement {
  language: Language;
  number: number;
  partner: string;
  /** Its first day; null for an extract. */
  month: string | null;
  firstDay: string;
  lastDay: string;
  zone: string;
  currency: string;
  createdAt: Date;
  orders: number;
  salesMinor: Minor;
  tillMinor: Minor;
  ownPromoMinor: Minor;
  platformPromoMinor: Minor;
  commissionMinor: Minor;
  earlierMinor: Minor;
  correctionsMinor: Minor;
  payoutsMinor: Minor;
  openingMinor: Minor;
  closingMinor: Minor;
  days: readonly { day: string; orders: number; salesMinor: Minor; commissionMinor: Minor }[];
  manual: readonly { at: Date; amountMinor: Minor; reference: string | null; reason: string | null }[];
  /** Whether there are more of them than are printed. */
  hasMoreManual: boolean;
}

/** Fonts with Cyrillic letters, which the standard fonts of PDF lack. */
const { resolve } = createRequire(import.meta.url);
const regular = resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf");
const bold = resolve("dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf");

const locales: Readonly<Record<Language, string>> = { ru: "ru-RU", en: "en-GB" };

/** How far above the end of a page its number is. */
const FOOTER = 35;

/** Characters of a reference with its reason; the rest is cut, as the list of the API has it. */
const LONGEST = 120;
const cut = (text: string) => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`);

/** A document under way: its statement, how amounts and times are written in it, and its elements. */
function openDocument(statement: PrintedStatement) {
  const { language, number, partner, month, zone, currency, createdAt } = statement;
  const words = statementWords[language];
  const locale = locales[language];
  const currencyFormat = new Intl.NumberFormat(locale, { style: "currency", currency });
  const countFormat = new Intl.NumberFormat(locale);
  const momentFormat = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: zone });
  const dayFormat = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" });
  const monthFormat = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric", timeZone: "UTC" });
  const title = `${month === null ? words.extract : words.statement} ${number}`;
  const pdf = new PDFDocument({
    size: "A4",
    margin: 50,
    font: regular,
    lang: locale,
    displayTitle: true,
    // until their number is known
    bufferPages: true,
    info: { Title: `${title}, ${partner}`, CreationDate: createdAt, ModDate: createdAt },
  });
  return {
    statement,
    words,
    title,
    period:
      month === null
        ? dayFormat.formatRange(new Date(statement.firstDay), new Date(statement.lastDay))
        : monthFormat.format(new Date(month)),
    count: (number: number) => countFormat.format(number),
    money: (minor: Minor) => currencyFormat.format(toMajor(minor)),
    moment: (at: Date) => momentFormat.format(at),
    day: (day: string) => dayFormat.format(new Date(day)),
    pdf,
    heading: (text: string) => pdf.font(bold).fontSize(12).text(text).font(regular).moveDown(0.5),
    /** Draws rows of a name and amounts; the first column is the widest. */
    table: (rows: readonly (readonly string[])[], columns: (number | "*")[], fontSize = 10) => {
      pdf.fontSize(fontSize).table({
        columnStyles: columns.map((width, n) => ({ width, align: { x: n === 0 ? "left" : "right" } })),
        rowStyles: { border: [0, 0, 0.5, 0], borderColor: "#bbbbbb", padding: 4 },
        data: rows.map((row) => [...row]),
      });
      pdf.x = pdf.page.margins.left;
      pdf.moveDown();
    },
  };
}

type Document = ReturnType<typeof openDocument>;

function writeTitle({ pdf, title, period, words, moment, statement }: Document): void {
  pdf.font(bold).fontSize(18).text(title).font(regular).fontSize(11);
  pdf.text(statement.partner).moveDown(0.5);
  pdf.text(`${words.period}: ${period} (${statement.zone})`);
  pdf.text(`${words.made}: ${moment(statement.createdAt)}`).moveDown();
}

function writeSales({ heading, table, words, count, money, statement }: Document): void {
  heading(words.sales);
  table(
    [
      [words.orders, count(statement.orders)],
      [words.price, money(statement.salesMinor)],
      [words.till, money(statement.tillMinor)],
      [words.ownPromo, money(statement.ownPromoMinor)],
      [words.platformPromo, money(statement.platformPromoMinor)],
    ],
    ["*", 130],
  );
}

function writeBalance({ pdf, heading, table, words, money, statement }: Document): void {
  heading(words.balance);
  table(
    [
      [words.opening, money(statement.openingMinor)],
      [words.platformPromo, money(statement.platformPromoMinor)],
      [words.commission, money(0 - statement.commissionMinor)],
      ...(statement.month === null ? [] : [[words.earlier, money(statement.earlierMinor)]]),
      [words.corrections, money(statement.correctionsMinor)],
      [words.payouts, money(statement.payoutsMinor)],
      [words.closing, money(statement.closingMinor)],
    ],
    ["*", 130],
  );
  pdf
    .font(bold)
    .fontSize(11)
    .text(words.owed(statement.closingMinor, money(Math.abs(statement.closingMinor))));
  pdf.font(regular).moveDown();
}

function writeManual({ pdf, heading, table, words, moment, money, statement }: Document): void {
  const { manual, hasMoreManual } = statement;
  if (manual.length === 0) return;
  heading(words.manual);
  table(
    manual.map(({ at, amountMinor, reference, reason }) => [
      `${moment(at)}  ${cut([reference, reason].filter((each) => each !== null).join(": "))}`,
      money(amountMinor),
    ]),
    ["*", 130],
    9,
  );
  if (hasMoreManual) pdf.text(words.moreManual(manual.length)).moveDown();
}

function writeDays({ heading, table, words, day, money, statement: { days } }: Document): void {
  if (days.length === 0) return;
  heading(words.days);
  table(
    [
      [words.day, words.orders, words.price, words.commission],
      ...days.map((each) => [day(each.day), String(each.orders), money(each.salesMinor), money(each.commissionMinor)]),
    ],
    ["*", 90, 130, 110],
    9,
  );
}

function writeRules({ pdf, words, statement: { month } }: Document): void {
  const ofKind = month === null ? words.extractRules : words.statementRules;
  pdf.fontSize(8).fillColor("#555555").text(`${words.rules} ${ofKind}`);
}

function numberPages({ pdf, title, words }: Document): void {
  const { count } = pdf.bufferedPageRange();
  for (let page = 0; page < count; page += 1) {
    pdf.switchToPage(page);
    const { margins, height } = pdf.page;
    // what is below the margin would go to a new page
    margins.bottom = 0;
    pdf
      .fillColor("#555555")
      .text(words.page(title, page + 1, count), margins.left, height - FOOTER, { align: "right", lineBreak: false });
  }
}

const parts = [writeTitle, writeSales, writeBalance, writeManual, writeDays, writeRules, numberPages];

/** Renders a statement as a PDF of A4 pages. The same statement gives the same bytes. */
export function statementDocument(statement: PrintedStatement): Readable {
  const document = openDocument(statement);
  for (const write of parts) write(document);
  document.pdf.end();
  return document.pdf;
}
