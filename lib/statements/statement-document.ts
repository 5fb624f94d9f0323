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

/** Renders a statement as a PDF of A4 pages. The same statement gives the same bytes. */
export function statementDocument(statement: PrintedStatement): Readable {
  const { language, number, partner, month, zone, currency, createdAt, days, manual } = statement;
  const isExtract = month === null;
  const words = statementWords[language];
  const locale = locales[language];
  const format = new Intl.NumberFormat(locale, { style: "currency", currency });
  const money = (minor: Minor) => format.format(toMajor(minor));
  const momentFormat = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: zone });
  const dayFormat = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" });
  const monthName = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric", timeZone: "UTC" });
  const title = `${isExtract ? words.extract : words.statement} ${number}`;
  const period = isExtract
    ? dayFormat.formatRange(new Date(statement.firstDay), new Date(statement.lastDay))
    : monthName.format(new Date(month));

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
  /** Draws rows of a name and amounts; the first column is the widest. */
  const table = (rows: readonly (readonly string[])[], columns: (number | "*")[], fontSize = 10) => {
    pdf.fontSize(fontSize).table({
      columnStyles: columns.map((width, n) => ({ width, align: { x: n === 0 ? "left" : "right" } })),
      rowStyles: { border: [0, 0, 0.5, 0], borderColor: "#bbbbbb", padding: 4 },
      data: rows.map((row) => [...row]),
    });
    pdf.x = pdf.page.margins.left;
    pdf.moveDown();
  };
  const heading = (text: string) => pdf.font(bold).fontSize(12).text(text).font(regular).moveDown(0.5);

  pdf.font(bold).fontSize(18).text(title).font(regular).fontSize(11);
  pdf.text(partner).moveDown(0.5);
  pdf.text(`${words.period}: ${period} (${zone})`);
  pdf.text(`${words.made}: ${momentFormat.format(createdAt)}`).moveDown();

  heading(words.sales);
  table(
    [
      [words.orders, new Intl.NumberFormat(locale).format(statement.orders)],
      [words.price, money(statement.salesMinor)],
      [words.till, money(statement.tillMinor)],
      [words.ownPromo, money(statement.ownPromoMinor)],
      [words.platformPromo, money(statement.platformPromoMinor)],
    ],
    ["*", 130],
  );
  heading(words.balance);
  table(
    [
      [words.opening, money(statement.openingMinor)],
      [words.platformPromo, money(statement.platformPromoMinor)],
      [words.commission, money(0 - statement.commissionMinor)],
      ...(isExtract ? [] : [[words.earlier, money(statement.earlierMinor)]]),
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

  if (manual.length > 0) {
    heading(words.manual);
    table(
      manual.map(({ at, amountMinor, reference, reason }) => [
        `${momentFormat.format(at)}  ${cut([reference, reason].filter((each) => each !== null).join(": "))}`,
        money(amountMinor),
      ]),
      ["*", 130],
      9,
    );
    if (statement.hasMoreManual) pdf.text(words.moreManual(manual.length)).moveDown();
  }
  if (days.length > 0) {
    heading(words.days);
    table(
      [
        [words.day, words.orders, words.price, words.commission],
        ...days.map(({ day, orders, salesMinor, commissionMinor }) => [
          dayFormat.format(new Date(day)),
          String(orders),
          money(salesMinor),
          money(commissionMinor),
        ]),
      ],
      ["*", 90, 130, 110],
      9,
    );
  }
  pdf
    .fontSize(8)
    .fillColor("#555555")
    .text(isExtract ? `${words.rules} ${words.extractRules}` : `${words.rules} ${words.statementRules}`);

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
  pdf.end();
  return pdf;
}
