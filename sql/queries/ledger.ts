import type { Enum } from "../../lib/domain/enums.js";
import type { Minor } from "../../lib/domain/money.js";
import type { Db } from "../db.js";
import { firstRow, hasRows, onlyRow, onlyValue } from "../rows.js";

/**
 * Books the next events of the log, up to `limit`, each once; returns how many it read. Null when events were dropped
 * before they were read: book their orders with `bookOrdersAfter`.
 */
export async function bookEvents(db: Db, limit: number, zone: string): Promise<number | null> {
  const taken = await onlyValue(
    db<{ taken: number }[]>`select coalesce(book_events(${limit}::integer, ${zone}::text)::integer, 0) as taken`,
  );
  return taken < 0 ? null : taken;
}

/** Books completed orders from their rows instead of the log, of the next `limit` ids; returns the last id, null at the end. */
export const bookOrdersAfter = (db: Db, after: string | null, limit: number, zone: string) =>
  onlyValue(db<{ last: string | null }[]>`
    select book_orders_after(${after}::uuid, ${limit}::integer, ${zone}::text)::text as last`);

/** Moves the ledger's cursor behind events that were dropped, up to this position. */
export const skipDroppedEvents = (db: Db, position: number) =>
  db`update ledger_state set position = ${position}::bigint where position < ${position}::bigint`;

/** Locks the ledger until the transaction `tx` ends, so that no other session books. */
export const lockLedger = (tx: Db) => tx`select from ledger_state for no key update`;

/** An entry that an admin books by hand. */
export interface ManualEntry {
  partnerId: string;
  kind: "CORRECTION" | "PAYOUT";
  /** On the partner's balance. */
  amountMinor: Minor;
  at: Date;
  /** Unique among the entries of its kind and partner. */
  reference: string;
  reason: string | null;
  orderId: string | null;
}

/** A manual entry that was booked. */
export interface BookedEntry {
  transactionId: string;
  amountMinor: Minor;
  at: Date;
  reason: string | null;
  orderId: string | null;
}

/** Finds a partner's manual entry by its kind and reference. */
export const findBooked = (
  db: Db,
  { partnerId, kind, reference }: Pick<ManualEntry, "partnerId" | "kind" | "reference">,
) =>
  firstRow(db<BookedEntry[]>`
    select transaction_id, amount_minor, occurred_at as at, reason, order_id
    from ledger_entries
    where partner_id = ${partnerId}::uuid and kind = ${kind}::ledger_kind and reference = ${reference}::text
      and account = 'BALANCE'`);

/** Books an entry, with an audit record; `tx` has `lockLedger`. Returns its transaction. */
export async function insertManualEntry(tx: Db, entry: ManualEntry, actorId: string, zone: string): Promise<string> {
  const { partnerId, kind, amountMinor, at, reference, reason, orderId } = entry;
  const counter: Enum<"ledgerAccount"> = kind === "PAYOUT" ? "BANK" : "ADJUSTMENTS";
  const booked = await onlyValue(
    tx<{ id: string | null }[]>`
      select book_by_hand(
        ${partnerId}::uuid, ${counter}::ledger_account, ${kind}::ledger_kind, ${amountMinor}::bigint, ${at}::timestamptz,
        ${zone}::text, ${reference}::text, ${reason}::text, ${orderId}::uuid
      )::text as id`,
  );
  if (booked === null) throw new Error("nothing was booked");
  await tx`
    insert into audit_events (actor_id, action, subject_id, details)
    values (
      ${actorId}::uuid, 'SETTLEMENT_' || ${kind}::text, ${partnerId}::uuid,
      jsonb_build_object('transactionId', ${booked}::text, 'amountMinor', ${amountMinor}::bigint, 'reference', ${reference}::text)
    )`;
  return booked;
}

/** Whether a partner exists and was ever active. Others have no account in the ledger, and may be deleted. */
export const wasActive = (db: Db, partnerId: string) =>
  hasRows(db`select from partners where id = ${partnerId}::uuid and activated_at is not null`);

/** Whether an order belongs to the partner. */
export const isOrderOf = (db: Db, orderId: string, partnerId: string) =>
  hasRows(db`select from orders where id = ${orderId}::uuid and partner_id = ${partnerId}::uuid`);

/** The balance of a partner. */
export interface BalanceRow {
  id: string;
  name: string;
  /** The amount that the platform owes; negative when the partner owes. */
  balanceMinor: Minor;
  updatedAt: Date;
}

/** Lists the partners that owe the platform, after the one with id `after`. */
export const listDebtors = (db: Db, after: string | null, limit: number) =>
  db<BalanceRow[]>`
    select p.id, p.name, b.balance_minor, b.updated_at
    from ledger_balances b
    join partners p on p.id = b.partner_id
    where b.balance_minor < 0 and (${after}::uuid is null or b.partner_id > ${after}::uuid)
    order by b.partner_id
    limit ${limit}`;

/** Lists the partners that the platform owes, after the one with id `after`. */
export const listCreditors = (db: Db, after: string | null, limit: number) =>
  db<BalanceRow[]>`
    select p.id, p.name, b.balance_minor, b.updated_at
    from ledger_balances b
    join partners p on p.id = b.partner_id
    where b.balance_minor > 0 and (${after}::uuid is null or b.partner_id > ${after}::uuid)
    order by b.partner_id
    limit ${limit}`;

/** Reads a partner's balance; 0 when nothing was booked. */
export const findBalance = async (db: Db, partnerId: string): Promise<Minor> =>
  (
    await firstRow(db<{ balanceMinor: Minor }[]>`
      select balance_minor from ledger_balances where partner_id = ${partnerId}::uuid`)
  )?.balanceMinor ?? 0;

/** A line of the ledger. */
export interface EntryRow {
  id: number;
  transactionId: string;
  partnerId: string;
  account: Enum<"ledgerAccount">;
  kind: Enum<"ledgerKind">;
  amountMinor: Minor;
  month: string;
  at: Date;
  bookedAt: Date;
  orderId: string | null;
  reference: string | null;
  reason: string | null;
}

/** Lists the lines of all partners in the order of booking, after the one with id `after`. */
export const listEntries = (db: Db, after: number, limit: number) =>
  db<EntryRow[]>`
    select id, transaction_id, partner_id, account, kind, amount_minor, month::text as month, occurred_at as at, booked_at,
           order_id, reference, reason
    from ledger_entries
    where id > ${after}::bigint
    order by id
    limit ${limit}`;

/** Finds the months that decide what is made next, each by its first day; `current` is today's in the zone. */
export const findLedgerMonths = (db: Db, zone: string) =>
  onlyRow(db<{ next: string; current: string }[]>`
    select next_month::text as next, coalesce(month_of(now(), ${zone}::text)::text, '') as current from ledger_state`);

/** Closes a month and all before it: later bookings of their facts belong to a later month. */
export const closeMonth = (db: Db, month: string) =>
  db`
    update ledger_state set open_month = (${month}::date + interval '1 month')::date
    where open_month <= ${month}::date`;

/** Records that all statements of a month are made. */
export const updateStatementsMade = (db: Db, month: string) =>
  db`
    update ledger_state set next_month = (${month}::date + interval '1 month')::date
    where next_month <= ${month}::date`;
