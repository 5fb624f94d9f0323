import type { Minor } from "../domain/money.js";
import type { Language } from "../domain/notification-texts.js";

interface Words {
  statement: string;
  extract: string;
  period: string;
  made: string;
  sales: string;
  orders: string;
  price: string;
  till: string;
  ownPromo: string;
  platformPromo: string;
  balance: string;
  opening: string;
  commission: string;
  earlier: string;
  corrections: string;
  payouts: string;
  closing: string;
  /** Debtor and creditor, by the sign of the closing balance; `amount` is unsigned. */
  owed: (closing: Minor, amount: string) => string;
  manual: string;
  /** What is not printed beyond so many. */
  moreManual: (printed: number) => string;
  days: string;
  day: string;
  rules: string;
  statementRules: string;
  extractRules: string;
  page: (title: string, page: number, count: number) => string;
}

const ru: Words = {
  statement: "Отчёт №",
  extract: "Выписка №",
  period: "Период",
  made: "Составлен",
  sales: "Выданные заказы",
  orders: "Заказы",
  price: "Цена",
  till: "Оплачено покупателями на месте",
  ownPromo: "Скидки за счёт партнёра",
  platformPromo: "Скидки за счёт платформы",
  balance: "Расчёты с платформой",
  opening: "Остаток на начало",
  commission: "Комиссия",
  earlier: "Заказы прошлых месяцев",
  corrections: "Исправления",
  payouts: "Платежи",
  closing: "Остаток на конец",
  owed: (closing, amount) => {
    if (closing === 0) return "Долгов нет.";
    return closing < 0 ? `Партнёр должен платформе ${amount}.` : `Платформа должна партнёру ${amount}.`;
  },
  manual: "Платежи и исправления",
  moreManual: (printed) => `Здесь первые ${printed}. Остальные есть в приложении и в CSV.`,
  days: "По дням",
  day: "День",
  rules: "Заказ относится к дню, в который его выдали. За отменённые и невостребованные заказы комиссии нет.",
  statementRules: "Что учтено после составления отчёта, войдёт в следующий.",
  extractRules:
    "В выписке то, что было учтено к моменту её составления. Расчётов она не меняет: те же заказы, платежи и исправления есть в отчётах за месяц.",
  page: (title, page, count) => `${title}, страница ${page} из ${count}`,
};

const en: Words = {
  statement: "Statement No.",
  extract: "Extract No.",
  period: "Period",
  made: "Made on",
  sales: "Orders handed over",
  orders: "Orders",
  price: "Price",
  till: "Paid by customers at pickup",
  ownPromo: "Discounts at the partner's expense",
  platformPromo: "Discounts at the platform's expense",
  balance: "Account with the platform",
  opening: "Opening balance",
  commission: "Commission",
  earlier: "Orders of earlier months",
  corrections: "Corrections",
  payouts: "Payments",
  closing: "Closing balance",
  owed: (closing, amount) => {
    if (closing === 0) return "Nothing is owed.";
    return closing < 0 ? `The partner owes the platform ${amount}.` : `The platform owes the partner ${amount}.`;
  },
  manual: "Payments and corrections",
  moreManual: (printed) => `These are the first ${printed}. The app and the CSV have the others.`,
  days: "By day",
  day: "Day",
  rules: "An order belongs to the day on which it was handed over. Cancelled orders and no-shows cost no commission.",
  statementRules: "What is booked after this statement was made is on the next one.",
  extractRules:
    "An extract has what was booked by the time it was made. It changes no balance: monthly statements have the same orders, payments and corrections.",
  page: (title, page, count) => `${title}, page ${page} of ${count}`,
};

/** The texts of a statement's document. */
export const statementWords: Readonly<Record<Language, Words>> = { ru, en };
