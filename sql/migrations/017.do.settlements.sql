-- Balances between partners and the platform. sql/README.md says who holds the money, and what is booked.
create type ledger_account as enum ('TILL', 'BALANCE', 'BANK', 'SALES', 'PROMO', 'COMMISSION', 'ADJUSTMENTS');
create type ledger_kind as enum ('SALE', 'PROMO', 'COMMISSION', 'CORRECTION', 'PAYOUT');

-- The state of the ledger. Its lock serialises bookings and the numbering of statements.
create table ledger_state (
  only_row boolean primary key default true check (only_row),
  -- the event log is booked up to here
  position bigint not null default 0,
  -- earlier months are closed: their statements are made, or are being made
  open_month date not null default (date_trunc('month', now()) - interval '1 month')::date,
  -- the first month without all of its statements
  next_month date not null default (date_trunc('month', now()) - interval '1 month')::date,
  -- of the last statement of a month
  last_number bigint not null default 0,
  -- of the last extract
  last_extract bigint not null default 0
);
insert into ledger_state default values;

-- A double-entry ledger for each partner: the lines of a transaction add up to zero. Rows are never changed or deleted.
-- There are no foreign keys, because each of millions of lines would be checked: orders and partners with a balance are
-- never deleted.
create table ledger_entries (
  -- the order of booking
  id bigint generated always as identity primary key,
  -- the order, for lines of an order
  transaction_id uuid not null,
  partner_id uuid not null,
  account ledger_account not null,
  kind ledger_kind not null,
  -- positive: the partner has or spends it; negative: the partner earns or owes it
  amount_minor bigint not null,
  -- the month of the statement with this line: that of the fact, or the first open month at the booking
  month date not null check (extract(day from month) = 1),
  occurred_at timestamptz not null,
  booked_at timestamptz not null default now(),
  order_id uuid,
  -- of the event log; null for manual entries, and for an order whose event was dropped
  event_id uuid,
  -- of a payment or a correction: the reference detects a repeated request, the reason explains the entry
  reference text,
  reason text
);

-- books a line once, however often its event is read
create unique index ledger_entries_once on ledger_entries (transaction_id, account, kind);
create unique index ledger_entries_by_reference on ledger_entries (partner_id, kind, reference)
  where reference is not null and account = 'BALANCE';
-- covers all columns that a statement sums, so that rows are not read
create index ledger_entries_by_partner on ledger_entries (partner_id, month, id)
  include (account, kind, amount_minor, occurred_at);

-- The amount that the platform owes each partner, negative when the partner owes: the sum of its lines on BALANCE,
-- maintained by the trigger that checks the lines.
create table ledger_balances (
  partner_id uuid primary key references partners (id),
  balance_minor bigint not null default 0,
  updated_at timestamptz not null default now()
);

create index ledger_balances_of_debtors on ledger_balances (partner_id) where balance_minor < 0;
create index ledger_balances_of_creditors on ledger_balances (partner_id) where balance_minor > 0;

-- A partner's month, or an extract: other days, as they were known when it was made. Never changed: what is booked later is on a
-- later statement.
create table statements (
  id uuid primary key default new_id(),
  -- 1, 2, 3 and so on, without gaps: those of months, and for themselves extracts
  number bigint not null,
  -- no foreign key: who has a balance is never deleted
  partner_id uuid not null,
  -- as it was called when the statement was made
  partner_name text not null,
  -- null: an extract
  month date check (extract(day from month) = 1),
  -- the last line of the ledger that an extract knows; a month is closed, and needs none
  known_entry_id bigint,
  -- the days as instants, and where they were cut
  zone text not null,
  from_at timestamptz not null,
  until_at timestamptz not null check (until_at > from_at),
  first_day date not null generated always as ((from_at at time zone zone)::date) stored,
  last_day date not null generated always as ((until_at at time zone zone)::date - 1) stored,
  currency text not null,
  -- orders that were handed over on these days: their price, and who paid it
  orders integer not null,
  sales_minor bigint not null,
  till_minor bigint not null,
  own_promo_minor bigint not null,
  platform_promo_minor bigint not null,
  commission_minor bigint not null,
  -- by how much orders of earlier months, which were booked too late for theirs, change the balance; an extract has none
  earlier_minor bigint not null,
  corrections_minor bigint not null,
  payouts_minor bigint not null,
  opening_minor bigint not null,
  closing_minor bigint not null,
  created_at timestamptz not null default now(),
  unique (partner_id, month),
  check ((month is null) = (known_entry_id is not null)),
  check (sales_minor = till_minor + own_promo_minor + platform_promo_minor),
  check (
    closing_minor
      = opening_minor + platform_promo_minor - commission_minor + earlier_minor + corrections_minor + payouts_minor
  )
);

create index statements_by_month on statements (month, number);
-- the two series; statements of one month must not be looked for here among those of all
create unique index statements_numbers on statements ((month is null), number);
create index statements_extracts on statements (partner_id, from_at, until_at) where month is null;

-- The document of a statement, in storage.
create table statement_files (
  statement_id uuid primary key references statements (id),
  name text not null unique,
  -- null until it exists
  made_at timestamptz
);

-- Triggers need a function when they are created; functions/settlements.sql has the bodies.
create function check_ledger() returns trigger language plpgsql as $$ begin return null; end $$;
create function refuse_change() returns trigger language plpgsql as $$ begin return null; end $$;

create trigger check_ledger after insert on ledger_entries
referencing new table as added
for each statement execute function check_ledger();
create trigger refuse_change before update or delete or truncate on ledger_entries
for each statement execute function refuse_change();
create trigger refuse_change before update or delete or truncate on statements
for each statement execute function refuse_change();
