create type item_source as enum ('MANUAL', 'CSV', 'POS');

create table menu_categories (
  id uuid primary key default new_id(),
  partner_id uuid not null references partners (id),
  name text not null
);

create unique index menu_categories_by_name on menu_categories (partner_id, lower(name));

create table menu_items (
  id uuid primary key default new_id(),
  partner_id uuid not null references partners (id),
  category_id uuid not null references menu_categories (id),
  name text not null,
  description text,
  price_minor bigint not null check (price_minor >= 0),
  weight_grams integer check (weight_grams > 0),
  available boolean not null default true,
  source item_source not null default 'MANUAL',
  -- its key in the CSV file or the POS
  external_id text,
  archived_at timestamptz,
  -- an item that a sync archived returns with the next sync that finds it; one that a user archived does not
  archived_by_sync boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- The key of a menu's item by its external id, null without one; a UUID's text is always as long. It is one expression, so the
-- planner has one index to look an item up by. With two columns it took the menu of a partner that had joined since the last
-- ANALYZE for empty, found items by their partner alone, and compared each with each.
create function menu_item_key(of_partner uuid, external_id text) returns text
language sql immutable parallel safe
return of_partner::text || external_id;

create unique index menu_items_by_key on menu_items (menu_item_key(partner_id, external_id));
create index menu_items_by_partner on menu_items (partner_id, id);
-- A CSV row without a key is matched by its category and name, in this order where items share them; a row with a key may give
-- it to the item that has none. So a name that thousands of items share costs no more to match than any other.
create index menu_items_by_name
on menu_items (category_id, lower(name), (archived_at is not null), (source = 'POS'), external_id nulls first, id);
create index menu_items_by_name_without_key
on menu_items (category_id, lower(name), (source = 'POS'), (archived_at is not null), id) where external_id is null;

create type menu_import_status as enum ('QUEUED', 'RUNNING', 'DONE', 'FAILED');

-- Menus that partners upload as CSV.
create table menu_imports (
  id uuid primary key default new_id(),
  partner_id uuid not null references partners (id),
  status menu_import_status not null default 'QUEUED',
  -- the job that runs it; staged_jobs may have deleted it
  job_id bigint,
  -- the file in storage, until the import is settled
  file_key text not null unique,
  size bigint not null check (size > 0),
  -- its header
  columns text[] not null check (cardinality(columns) > 0),
  delimiter text not null check (delimiter in (',', ';')),
  -- the progress: so many bytes and line ends of the file are done
  position bigint not null,
  lines integer not null check (lines >= 0),
  rows_created integer not null default 0 check (rows_created >= 0),
  rows_updated integer not null default 0 check (rows_updated >= 0),
  rows_failed integer not null default 0 check (rows_failed >= 0),
  -- so many of them named an item of another row of their batch
  rows_repeated integer not null default 0 check (rows_repeated >= 0),
  -- the first of the rejected rows: [{line, column, message}]
  errors jsonb not null default '[]',
  -- why it ended before the end of the file, and where
  failure text,
  failure_line integer check (failure_line > 0),
  created_at timestamptz not null default now(),
  -- for the estimate of its end
  started_at timestamptz,
  settled_at timestamptz,
  check (position between 0 and size),
  check ((status in ('DONE', 'FAILED')) = (settled_at is not null)),
  check ((status = 'FAILED') = (failure is not null))
);

create index menu_imports_by_partner on menu_imports (partner_id, id);
-- a partner's imports run one at a time
create unique index menu_imports_running on menu_imports (partner_id) where status = 'RUNNING';
create index menu_imports_unsettled on menu_imports (id) where settled_at is null;
create index menu_imports_by_age on menu_imports (created_at) where settled_at is not null;

-- A row of a menu's CSV file.
create type menu_row as (
  category text,
  name text,
  price_minor bigint,
  external_id text,
  description text,
  weight_grams integer,
  available boolean
);

-- The same, matched with the menu it is imported into (see functions/import_menu_rows.sql).
create type matched_menu_row as (
  place integer,
  category text,
  name text,
  price_minor bigint,
  external_id text,
  description text,
  weight_grams integer,
  available boolean,
  -- null for a category that is new to the menu
  category_id uuid,
  -- the item that the row changes; null when it creates one
  item_id uuid,
  source item_source,
  -- whether the item differs from the row
  differs boolean,
  -- whether another row of the same call has the same key, name or item
  clashes boolean
);
