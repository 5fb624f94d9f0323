-- The event log: each fact about the domain is a row, inserted by the statement of the change. sql/README.md says why another
-- transaction assigns the positions later. No column contains personal data.

-- Events without a position. All writers insert here only, so no write depends on a partition.
create table new_events (
  -- the order of inserts, which differs from the order of commits
  written bigint generated always as identity primary key,
  -- the event's id for receivers, which survives a failover that loses the position
  id uuid not null default new_id(),
  type text not null,
  -- the version of the schema of `data`
  version smallint not null default 1,
  -- null for the platform's own events
  partner_id uuid,
  at timestamptz not null default now(),
  data jsonb not null
);

-- The log, in the order in which events became visible. A position begins with its day: days since 1970, times
-- positions_a_day(). So the partition of a day is a range of positions, and a reader that continues from a position reads
-- no partition of an earlier day. number_events creates the partitions, drop_old_events drops them.
create table events (
  position bigint primary key,
  id uuid not null,
  type text not null,
  version smallint not null,
  partner_id uuid,
  at timestamptz not null,
  data jsonb not null
) partition by range (position);

create index events_by_partner on events (partner_id, position) where partner_id is not null;

-- The state of the log. Its lock serialises the batches of number_events.
create table event_log (
  only_row boolean primary key default true check (only_row),
  -- the last assigned position; 0 before the first
  last_position bigint not null default 0,
  -- the last dropped position
  dropped_position bigint not null default 0,
  -- the server and timeline that assigned the last position
  server text
);
insert into event_log default values;

-- Triggers need a function when they are created; functions/events.sql has the bodies.
create function note_event() returns trigger language plpgsql as $$ begin return null; end $$;
create function note_events_of_menu() returns trigger language plpgsql as $$ begin return null; end $$;

-- Changes that several statements make have a trigger, so that no statement can omit the event. Changes of a single
-- statement, and inserts, record their event in that statement.

create trigger note_event_of_status after update of status on boxes for each row
when (old.status is distinct from new.status)
execute function note_event();
-- Orders change none of these columns. note_event compares them, because every order would pay for a condition of the
-- trigger.
create trigger note_event_of_change
after update of
  title, description, price_minor, original_price_minor, weight_grams, max_per_customer, pickup_window_start, pickup_window_end,
  image, hidden_at
on boxes for each row
execute function note_event();

create trigger note_events after update on menu_items
referencing old table as before new table as changed
for each statement execute function note_events_of_menu();

create trigger note_event after update of status on menu_imports for each row
when (old.settled_at is null and new.settled_at is not null)
execute function note_event();
create trigger note_event after update of status on pos_syncs for each row
when (old.settled_at is null and new.settled_at is not null)
execute function note_event();

create trigger note_event after update of status on partners for each row
when (old.status is distinct from new.status)
execute function note_event();

create trigger note_event after update of status on reviews for each row
when (old.status is distinct from new.status and new.status in ('APPROVED', 'REJECTED'))
execute function note_event();

create trigger note_event after update of status on ad_campaigns for each row
when (old.status is distinct from new.status and new.status = 'COMPLETED')
execute function note_event();

create trigger note_event after update of status on files for each row
when (old.status is distinct from new.status and new.status = 'READY')
execute function note_event();

create trigger note_event after update of deleted_at on users for each row
when (old.deleted_at is null and new.deleted_at is not null)
execute function note_event();
