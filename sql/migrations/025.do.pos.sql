-- How a partner's POS is reached. What lets us in is sealed: a key of the row's own encrypts it, and that key is encrypted
-- under one of the deployment's.
create table pos_credentials (
  partner_id uuid primary key references partners (id),
  adapter text not null,
  -- what the POS calls this account in its events
  account text not null,
  sealed text not null,
  -- the revision of the menu that was pulled last with these credentials, where the POS has such a thing
  revision text,
  -- of the partner's own phase, so that all partners' menus are not pulled at once
  next_sync_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- an event names its account, which has to lead to one partner
create unique index pos_credentials_by_account on pos_credentials (adapter, account);
create index pos_credentials_to_sync on pos_credentials (next_sync_at);

create type pos_sync_status as enum ('QUEUED', 'RUNNING', 'DONE', 'FAILED');
-- REFUSED: the POS does not let us in. UNAVAILABLE: it gives no answer now. TOO_LARGE: its menu is longer than we take.
-- REPLACED: the credentials were changed. ABANDONED: its job was given up.
create type pos_sync_failure as enum ('REFUSED', 'UNAVAILABLE', 'TOO_LARGE', 'REPLACED', 'ABANDONED');

-- One pull of a partner's menu.
create table pos_syncs (
  id uuid primary key default new_id(),
  partner_id uuid not null references partners (id),
  status pos_sync_status not null default 'QUEUED',
  -- not before: a POS that is away, or asks for patience, is given time
  start_at timestamptz not null default now(),
  -- 1, or more where it follows others that met no answer
  try integer not null default 1,
  -- the staged job, which may be gone
  job_id bigint,
  -- counts the starts: only the last one may go on
  run integer not null default 0,
  -- something changed while it ran: another one follows
  again boolean not null default false,
  -- items of the POS that the menu had when it started
  items_expected integer,
  items_synced integer not null default 0,
  items_failed integer not null default 0,
  items_archived integer not null default 0,
  -- the POS said that nothing has changed
  unchanged boolean not null default false,
  -- [{externalId, message}], the first of them
  errors jsonb not null default '[]',
  failure pos_sync_failure,
  -- what the POS said, fit to be shown
  reason text,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  check ((status in ('DONE', 'FAILED')) = (settled_at is not null)),
  check ((status = 'FAILED') = (failure is not null))
);

-- one at a time
create unique index pos_syncs_open on pos_syncs (partner_id) where settled_at is null;
create index pos_syncs_by_partner on pos_syncs (partner_id, id);
create index pos_syncs_settled on pos_syncs (settled_at) where settled_at is not null;

-- An item that a sync archived comes back with the next sync that finds it; one that a person archived does not.
alter table menu_items add column archived_by_sync boolean not null default false;
