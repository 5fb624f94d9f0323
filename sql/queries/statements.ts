import type { Enum } from "../../lib/domain/enums.js";
import type { Minor } from "../../lib/domain/money.js";
import type { Db } from "../db.js";
import { firstRow, hasRows, onlyRow } from "../rows.js";

/** The figures of a statement. */
export interface StatementFigures {
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
}

export interface StatementRow extends StatementFigures {
  id: string;
  number: number;
  partnerId: string;
  /** The partner's name when it was made. */
  partner: string;
  /** Its first day; null for an extract. */
  month: string | null;
  firstDay: string;
  lastDay: string;
  zone: string;
  currency: string;
  createdAt: Date;
  /** The name of its document; null until the document exists. */
  file: string | null;
}

/** The month and the place of a run that makes statements. */
interface StatementRun {
  /** Its first day. */
  month: string;
  zone: string;
  currency: string;
  /** The partner after which the run continues; null at its start. */
  after: string | null;
}

/**
 * Makes the statements of a closed month for the next `limit` partners, and stages the jobs of their documents; returns the
 * last of these partners, null after the last of all, and the number of statements.
 */
export const makeStatements = (db: Db, { month, zone, currency, after }: StatementRun, limit: number) =>
  onlyRow(db<{ last: string | null; made: number }[]>`
    select last_partner::text as last, coalesce(made, 0) as made
    from make_statements(${month}::date, ${zone}::text, ${currency}::text, ${after}::uuid, ${limit}::integer)`);

/** Returns the draft of a partner's statement of a month; undefined when nothing is booked in that month. */
export const findDraft = (db: Db, partnerId: string, month: string, zone: string) =>
  firstRow(db<StatementFigures[]>`
    select coalesce(orders, 0) as orders, coalesce(sales_minor, 0) as sales_minor, coalesce(till_minor, 0) as till_minor,
           coalesce(own_promo_minor, 0) as own_promo_minor, coalesce(platform_promo_minor, 0) as platform_promo_minor,
           coalesce(commission_minor, 0) as commission_minor, coalesce(earlier_minor, 0) as earlier_minor,
           coalesce(corrections_minor, 0) as corrections_minor, coalesce(payouts_minor, 0) as payouts_minor,
           coalesce(opening_minor, 0) as opening_minor, coalesce(closing_minor, 0) as closing_minor
    from draft_statements(array[${partnerId}::uuid], ${month}::date, start_of_day(${month}::date, ${zone}::text))`);

/** The days of an extract, and who asks for it. */
interface ExtractRequest {
  partnerId: string;
  /** Both included. */
  firstDay: string;
  lastDay: string;
  zone: string;
  currency: string;
  actorId: string;
  requestId: string;
  /** How many the partner may get within 24 hours; null: any number. */
  mostADay: number | null;
}

/**
 * Makes an extract, with an audit record, and stages the job of its document; returns its id. One of the same days that is still right is
 * returned instead. Null: the partner has got as many as it may.
 */
export const makeExtract = (db: Db, request: ExtractRequest) =>
  onlyRow(db<{ id: string | null; isNew: boolean }[]>`
    with asked as (
      select extract_id, is_new
      from make_extract(
        ${request.partnerId}::uuid, ${request.firstDay}::date, ${request.lastDay}::date, ${request.zone}::text,
        ${request.currency}::text, ${request.mostADay}::integer, ${request.requestId}::text
      )
    ), audited as (
      insert into audit_events (actor_id, action, subject_id, details)
      select ${request.actorId}::uuid, 'SETTLEMENT_EXTRACT', ${request.partnerId}::uuid, jsonb_build_object(
               'statementId', extract_id, 'firstDay', ${request.firstDay}::text, 'lastDay', ${request.lastDay}::text
             )
      from asked
      where is_new and extract_id is not null
    )
    select extract_id::text as id, coalesce(is_new, false) as is_new from asked`);

/** Lists the statements of the partner that a user owns, newest first, after the one with id `after`. */
export const listOwnStatements = (db: Db, partnerId: string, ownerId: string, after: string | null, limit: number) =>
  db<StatementRow[]>`
    select s.id, s.number, s.partner_id, s.partner_name as partner, s.month::text as month, s.first_day::text as first_day,
           s.last_day::text as last_day, s.zone, s.currency, s.created_at, s.orders, s.sales_minor, s.till_minor,
           s.own_promo_minor, s.platform_promo_minor, s.commission_minor, s.earlier_minor, s.corrections_minor,
           s.payouts_minor, s.opening_minor, s.closing_minor,
           case when f.made_at is not null then f.name end as file
    from statements s
    join partners p on p.id = s.partner_id
    left join statement_files f on f.statement_id = s.id
    where s.partner_id = ${partnerId}::uuid and p.owner_id = ${ownerId}::uuid
      and (${after}::uuid is null or s.id < ${after}::uuid)
    order by s.id desc
    limit ${limit}`;

/** Lists the statements of a partner, newest first, after the one with id `after`. */
export const listStatementsOfPartner = (db: Db, partnerId: string, after: string | null, limit: number) =>
  db<StatementRow[]>`
    select s.id, s.number, s.partner_id, s.partner_name as partner, s.month::text as month, s.first_day::text as first_day,
           s.last_day::text as last_day, s.zone, s.currency, s.created_at, s.orders, s.sales_minor, s.till_minor,
           s.own_promo_minor, s.platform_promo_minor, s.commission_minor, s.earlier_minor, s.corrections_minor,
           s.payouts_minor, s.opening_minor, s.closing_minor,
           case when f.made_at is not null then f.name end as file
    from statements s
    left join statement_files f on f.statement_id = s.id
    where s.partner_id = ${partnerId}::uuid and (${after}::uuid is null or s.id < ${after}::uuid)
    order by s.id desc
    limit ${limit}`;

/** Finds a statement of the partner that a user owns. */
export const findOwnStatement = (db: Db, id: string, partnerId: string, ownerId: string) =>
  firstRow(db<StatementRow[]>`
    select s.id, s.number, s.partner_id, s.partner_name as partner, s.month::text as month, s.first_day::text as first_day,
           s.last_day::text as last_day, s.zone, s.currency, s.created_at, s.orders, s.sales_minor, s.till_minor,
           s.own_promo_minor, s.platform_promo_minor, s.commission_minor, s.earlier_minor, s.corrections_minor,
           s.payouts_minor, s.opening_minor, s.closing_minor,
           case when f.made_at is not null then f.name end as file
    from statements s
    join partners p on p.id = s.partner_id
    left join statement_files f on f.statement_id = s.id
    where s.id = ${id}::uuid and s.partner_id = ${partnerId}::uuid and p.owner_id = ${ownerId}::uuid`);

/** Finds a statement of a partner. */
export const findStatementOfPartner = (db: Db, id: string, partnerId: string) =>
  firstRow(db<StatementRow[]>`
    select s.id, s.number, s.partner_id, s.partner_name as partner, s.month::text as month, s.first_day::text as first_day,
           s.last_day::text as last_day, s.zone, s.currency, s.created_at, s.orders, s.sales_minor, s.till_minor,
           s.own_promo_minor, s.platform_promo_minor, s.commission_minor, s.earlier_minor, s.corrections_minor,
           s.payouts_minor, s.opening_minor, s.closing_minor,
           case when f.made_at is not null then f.name end as file
    from statements s
    left join statement_files f on f.statement_id = s.id
    where s.id = ${id}::uuid and s.partner_id = ${partnerId}::uuid`);

/** No extract. */
interface MonthRow extends StatementRow {
  month: string;
}

/** Lists the statements of a month, by number, after one number. */
export const listStatementsOfMonth = (db: Db, month: string, after: number, limit: number) =>
  db<MonthRow[]>`
    select s.id, s.number, s.partner_id, s.partner_name as partner, s.month::text as month, s.first_day::text as first_day,
           s.last_day::text as last_day, s.zone, s.currency, s.created_at, s.orders, s.sales_minor, s.till_minor,
           s.own_promo_minor, s.platform_promo_minor, s.commission_minor, s.earlier_minor, s.corrections_minor,
           s.payouts_minor, s.opening_minor, s.closing_minor,
           case when f.made_at is not null then f.name end as file
    from statements s
    left join statement_files f on f.statement_id = s.id
    where s.month = ${month}::date and s.number > ${after}::bigint
    order by s.number
    limit ${limit}`;

/** A line of a statement: an order, a payment or a correction. */
export interface StatementLineRow {
  id: number;
  kind: Enum<"ledgerKind">;
  at: Date;
  orderId: string | null;
  reference: string | null;
  reason: string | null;
  salesMinor: Minor | null;
  tillMinor: Minor | null;
  ownPromoMinor: Minor | null;
  platformPromoMinor: Minor | null;
  commissionMinor: Minor | null;
  /** Its change of the balance. */
  balanceMinor: Minor | null;
}

/** Lists what is on a statement, in the order in which it was booked, after one id. */
export const listStatementLines = (db: Db, statementId: string, after: number, limit: number) =>
  db<StatementLineRow[]>`
    select first.id, first.kind, first.occurred_at as at, first.order_id, first.reference, first.reason,
           (- sum(e.amount_minor) filter (where e.account = 'SALES'))::bigint as sales_minor,
           (sum(e.amount_minor) filter (where e.account = 'TILL'))::bigint as till_minor,
           (sum(e.amount_minor) filter (where e.account = 'PROMO'))::bigint as own_promo_minor,
           (sum(e.amount_minor) filter (where e.account = 'BALANCE' and e.kind = 'PROMO'))::bigint as platform_promo_minor,
           (sum(e.amount_minor) filter (where e.account = 'COMMISSION'))::bigint as commission_minor,
           (sum(e.amount_minor) filter (where e.account = 'BALANCE'))::bigint as balance_minor
    from ledger_entries first
    join ledger_entries e on e.transaction_id = first.transaction_id
    where first.id = any (array(
      select id
      from lines_on_statement(${statementId}::uuid)
      where id > ${after}::bigint
        -- each transaction has one of these
        and account in ('SALES', 'BANK', 'ADJUSTMENTS')
      order by id
      limit ${limit}
    ))
    group by first.id
    order by first.id`;

/** A statement without a document. */
export interface StatementToPrint extends Omit<StatementRow, "file"> {
  /** The locale of the partner's owner; null without one. */
  locale: string | null;
}

/** Finds a statement that has no document; undefined when it has one, or does not exist. */
export const findStatementToPrint = (db: Db, id: string) =>
  firstRow(db<StatementToPrint[]>`
    select s.id, s.number, s.partner_id, s.partner_name as partner, s.month::text as month, s.first_day::text as first_day,
           s.last_day::text as last_day, s.zone, s.currency, s.created_at, s.orders, s.sales_minor, s.till_minor,
           s.own_promo_minor, s.platform_promo_minor, s.commission_minor, s.earlier_minor, s.corrections_minor,
           s.payouts_minor, s.opening_minor, s.closing_minor, u.locale
    from statements s
    join partners p on p.id = s.partner_id
    left join users u on u.id = p.owner_id
    where s.id = ${id}::uuid
      and not exists (select from statement_files f where f.statement_id = s.id and f.made_at is not null)`);

/** A day of a statement. */
export interface StatementDayRow {
  day: string;
  orders: number;
  salesMinor: Minor;
  commissionMinor: Minor;
}

/** Lists the days of a statement on which orders were handed over. */
export const listStatementDays = (db: Db, statementId: string) =>
  db<StatementDayRow[]>`
    select coalesce((line.occurred_at at time zone s.zone)::date::text, '') as day,
           (count(*) filter (where line.account = 'SALES'))::integer as orders,
           coalesce(- sum(line.amount_minor) filter (where line.account = 'SALES'), 0)::bigint as sales_minor,
           coalesce(sum(line.amount_minor) filter (where line.account = 'COMMISSION'), 0)::bigint as commission_minor
    from statements s, lines_on_statement(s.id) as line
    where s.id = ${statementId}::uuid and line.account in ('SALES', 'COMMISSION') and line.occurred_at >= s.from_at
    group by 1
    order by 1`;

/** A payment or a correction on a statement. */
export interface ManualLineRow {
  kind: Enum<"ledgerKind">;
  at: Date;
  amountMinor: Minor;
  reference: string | null;
  reason: string | null;
}

/** Lists the first `limit` payments and corrections on a statement. */
export const listManualLines = (db: Db, statementId: string, limit: number) =>
  db<ManualLineRow[]>`
    select e.kind, e.occurred_at as at, e.amount_minor, e.reference, e.reason
    from lines_on_statement(${statementId}::uuid) as line
    join ledger_entries e on e.id = line.id
    where line.account = 'BALANCE' and line.kind in ('CORRECTION', 'PAYOUT')
    order by e.id
    limit ${limit}`;

/** Returns the name of a statement's document: `name`, unless it has another one already. */
export async function nameStatementFile(db: Db, statementId: string, name: string): Promise<string> {
  await db`
    insert into statement_files (statement_id, name) values (${statementId}::uuid, ${name})
    on conflict (statement_id) do nothing`;
  const kept = await onlyRow(
    db<{ name: string }[]>`select name from statement_files where statement_id = ${statementId}::uuid`,
  );
  return kept.name;
}

/** Records that the document is in storage; false when it was before. */
export const updateStatementFileMade = (db: Db, statementId: string) =>
  hasRows(db`
    update statement_files set made_at = now() where statement_id = ${statementId}::uuid and made_at is null`);
