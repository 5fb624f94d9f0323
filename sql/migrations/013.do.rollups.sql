-- The analytics of past days, computed from orders and boxes (see functions/rollups.sql). A row says that a day is closed: from
-- then on, every change of its figures is recorded in rollup_changes. No two days overlap.
create table rollup_days (
  day date primary key,
  -- where the day was cut
  zone text not null,
  from_at timestamptz not null,
  until_at timestamptz not null,
  -- null: closed, and not rolled up yet
  rolled_up_at timestamptz,
  orders bigint not null default 0,
  gmv_minor bigint not null default 0,
  commission_minor bigint not null default 0,
  saved_grams bigint not null default 0,
  check (until_at > from_at)
);

create index rollup_days_by_end on rollup_days (until_at);

-- The tables below have no foreign keys: their ids are copied from rows that are never deleted.
create table rollup_partners (
  partner_id uuid not null,
  day date not null,
  orders bigint not null,
  gmv_minor bigint not null,
  commission_minor bigint not null,
  saved_grams bigint not null,
  primary key (partner_id, day)
);

create index rollup_partners_by_day on rollup_partners (day);

-- Boxes and menu items.
create table rollup_items (
  item_id uuid not null,
  day date not null,
  partner_id uuid not null,
  is_box boolean not null,
  orders bigint not null,
  gmv_minor bigint not null,
  -- how many were picked up, and the weight of one that saved_grams were computed with
  picked_up bigint not null,
  weight_grams integer not null,
  primary key (item_id, day)
);

create index rollup_items_by_day on rollup_items (day);
create index rollup_items_by_partner on rollup_items (partner_id, day);

create table rollup_hours (
  day date not null,
  hour integer not null check (hour between 0 and 23),
  orders bigint not null,
  listings bigint not null,
  primary key (day, hour)
);

-- Something of this moment changed after its day was closed. Each change has a row, so that none waits for another's lock.
create table rollup_changes (
  id bigint generated always as identity primary key,
  at timestamptz not null
);

create index rollup_changes_by_moment on rollup_changes (at);

-- Items whose weight has changed: the days on which they were picked up may be rolled up already.
create table weight_changes (
  item_id uuid primary key,
  changed_at timestamptz not null default now()
);

-- Triggers need a function when they are created; functions/rollups.sql has the bodies.
create function note_rollup_change() returns trigger language plpgsql as $$ begin return null; end $$;
create function note_weight_change() returns trigger language plpgsql as $$ begin return null; end $$;

create trigger note_rollup_change after insert on boxes for each row execute function note_rollup_change();
create trigger note_rollup_change after insert on orders for each row execute function note_rollup_change();
-- other moves of an order change no figure
create trigger note_rollup_change_of_move after update of status on orders for each row
when (old.status <> new.status and (new.status in ('CANCELLED', 'COMPLETED') or old.status in ('CANCELLED', 'COMPLETED')))
execute function note_rollup_change();

create trigger note_weight_change after update of weight_grams on boxes for each row
when (old.weight_grams is distinct from new.weight_grams)
execute function note_weight_change();
create trigger note_weight_change after update of weight_grams on menu_items for each row
when (old.weight_grams is distinct from new.weight_grams)
execute function note_weight_change();
