-- What an operator does to every dead job that matches: an upkeep task works through them in batches and counts here. Who asked for
-- it is in the audit log.
create type bulk_action_kind as enum ('REPLAY', 'DISMISS');

create table bulk_actions (
  id uuid primary key default new_id(),
  kind bulk_action_kind not null,
  -- null: of any queue
  queue text,
  -- null: whatever the error; else a part of it
  error text,
  why text not null,
  matched integer not null check (matched >= 0),
  changed integer not null default 0 check (changed >= 0),
  created_at timestamptz not null default now(),
  -- jobs that die after the request are left alone, so that one that dies again is not replayed for ever
  settled_at timestamptz
);

create index bulk_actions_open on bulk_actions (id) where settled_at is null;
