-- How a partner's POS is reached.
create table pos_credentials (
  partner_id uuid primary key references partners (id),
  adapter text not null,
  -- the POS's name for this account, as in its events
  account text not null,
  -- an envelope: a key of the row's own encrypts the credentials, and one of the deployment's keys encrypts that key
  encrypted text not null,
  -- the revision of the menu that was last pulled with these credentials, if the POS has revisions
  revision text,
  -- each partner has a phase of its own, so that not all menus are pulled at once
  next_sync_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- an event names its account, which must lead to one partner
create unique index pos_credentials_by_account on pos_credentials (adapter, account);
create index pos_credentials_to_sync on pos_credentials (next_sync_at);

create type pos_sync_status as enum ('QUEUED', 'RUNNING', 'DONE', 'FAILED');
-- REFUSED: the POS rejects the credentials. UNAVAILABLE: it does not answer now. TOO_LARGE: its menu exceeds the limit.
-- REPLACED: the credentials were changed. ABANDONED: its job died. EMPTY: the POS sent an empty menu, but items came from it
-- before.
create type pos_sync_failure as enum ('REFUSED', 'UNAVAILABLE', 'TOO_LARGE', 'REPLACED', 'ABANDONED', 'EMPTY');

-- One pull of a partner's menu.
create table pos_syncs (
  id uuid primary key default new_id(),
  partner_id uuid not null references partners (id),
  status pos_sync_status not null default 'QUEUED',
  -- not before: a POS that is down or asks for patience is given time
  start_at timestamptz not null default now(),
  -- more than 1 when it retries syncs that the POS did not answer
  attempt integer not null default 1,
  -- the staged job, which may have been deleted
  job_id bigint,
  -- counts the starts: only the last one may continue
  run integer not null default 0,
  -- something changed while it ran, so another sync follows
  again boolean not null default false,
  -- POS items that the menu had when it started
  items_expected integer,
  items_synced integer not null default 0,
  items_failed integer not null default 0,
  items_archived integer not null default 0,
  -- the POS reported that nothing has changed
  unchanged boolean not null default false,
  -- the first of the rejected items: [{externalId, name, position, message}]
  errors jsonb not null default '[]',
  failure pos_sync_failure,
  -- the POS's own message, fit to be shown
  reason text,
  created_at timestamptz not null default now(),
  -- the last start, for the estimate of its end
  started_at timestamptz,
  settled_at timestamptz,
  check ((status in ('DONE', 'FAILED')) = (settled_at is not null)),
  check ((status = 'FAILED') = (failure is not null))
);

-- a partner has one open sync
create unique index pos_syncs_open on pos_syncs (partner_id) where settled_at is null;
create index pos_syncs_by_partner on pos_syncs (partner_id, id);
create index pos_syncs_settled on pos_syncs (settled_at) where settled_at is not null;

create type pos_event_status as enum ('QUEUED', 'PROCESSED', 'PARKED');

-- What POS systems reported: each event once, however often it was delivered, in the order in which a partner's came in. The
-- account is part of the key, because a partner's next till may count from 1 again; the partner is, because an account may
-- become another partner's, whose inbox starts empty.
create table pos_events (
  id bigint generated always as identity primary key,
  partner_id uuid not null references partners (id),
  provider text not null,
  account text not null,
  event_id text not null,
  -- it may name a customer, so rows are deleted 30 days after they came in
  change jsonb not null,
  request_id text,
  traceparent text,
  status pos_event_status not null default 'QUEUED',
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  last_error text,
  -- the job that tries a parked event again, and shows it on the dashboard
  job_id bigint,
  received_at timestamptz not null default now(),
  settled_at timestamptz,
  unique (partner_id, provider, account, event_id),
  check ((status = 'QUEUED') = (settled_at is null))
);

create index pos_events_queued on pos_events (partner_id, id) where status = 'QUEUED';
create index pos_events_by_status on pos_events (status, id);
-- by when they came in, not when they were settled: trying an event again does not prolong its life
create index pos_events_settled_by_age on pos_events (received_at) where settled_at is not null;
-- events that came in before the order they are about
create index pos_events_parked_by_order on pos_events (partner_id, (change ->> 'orderExternalId')) where status = 'PARKED';
-- for the erasure of an account, which finds its events by its phone
create index pos_events_of_customers on pos_events ((change ->> 'customerPhone')) where change ->> 'customerPhone' is not null;

-- A partner's inbox. A request locks its row to add events, so that their ids are in the order of their commits and one job at
-- a time is scheduled to drain it.
create table pos_inboxes (
  partner_id uuid primary key references partners (id),
  -- the job that will drain it and has not started
  job_id bigint
);

-- Which order a POS's id means.
create table pos_orders (
  partner_id uuid not null references partners (id),
  provider text not null,
  account text not null,
  external_id text not null,
  order_id uuid not null unique references orders (id),
  -- the user who declined it: the partner's POS gives them no more orders
  refused_by uuid references users (id),
  primary key (partner_id, provider, account, external_id)
);

create index pos_orders_refused on pos_orders (refused_by, partner_id) where refused_by is not null;
