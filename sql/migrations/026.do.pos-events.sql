create type pos_event_status as enum ('QUEUED', 'PROCESSED', 'PARKED');

-- What POS systems told us, by partner in the order in which it came in: each event once, however often it was delivered.
-- `change` may name a customer, so rows go 30 days after they were settled.
create table pos_events (
  id bigint generated always as identity primary key,
  partner_id uuid not null references partners (id),
  provider text not null,
  account text not null,
  event_id text not null,
  change jsonb not null,
  request_id text,
  status pos_event_status not null default 'QUEUED',
  attempts integer not null default 0,
  next_try_at timestamptz not null default now(),
  last_error text,
  -- the staged job that tries a parked event again, and shows it on the dashboard
  job_id bigint,
  received_at timestamptz not null default now(),
  settled_at timestamptz,
  unique (provider, account, event_id),
  check ((status = 'QUEUED') = (settled_at is null))
);

create index pos_events_queued on pos_events (partner_id, id) where status = 'QUEUED';
create index pos_events_by_status on pos_events (status, id);
create index pos_events_settled on pos_events (settled_at) where settled_at is not null;
-- those that came before the order that they are about
create index pos_events_parked_by_order on pos_events (partner_id, (change ->> 'orderExternalId')) where status = 'PARKED';

-- Whoever puts an event into a partner's mailbox locks its row: events of one partner get their numbers in the order in which
-- they are committed, and one job at a time is on its way to them.
create table pos_mailboxes (
  partner_id uuid primary key references partners (id),
  -- the job that will look into it and has not begun to
  job_id bigint
);

-- Which order a POS means.
create table pos_orders (
  partner_id uuid not null references partners (id),
  provider text not null,
  external_id text not null,
  order_id uuid not null unique references orders (id),
  primary key (partner_id, provider, external_id)
);

-- An order that was taken at the counter may have no customer whom we know. A user of nobody's, one for all or one for each
-- partner, would collect points, take part in promos and be told of orders.
alter table orders alter column user_id drop not null;

-- it takes orders that were taken elsewhere now
drop function if exists place_order(uuid, uuid, uuid[], integer[], bigint, text, text, text, bytea, text, text);
