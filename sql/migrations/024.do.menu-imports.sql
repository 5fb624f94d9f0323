create type menu_import_status as enum ('QUEUED', 'RUNNING', 'DONE', 'FAILED');

-- Menus that partners send as CSV.
create table menu_imports (
  id uuid primary key default new_id(),
  partner_id uuid not null references partners (id),
  status menu_import_status not null default 'QUEUED',
  -- the job that does it; it ends in staged_jobs and may be forgotten there
  job_id bigint,
  -- where the file lies in storage until the import is settled
  file_key text not null unique,
  size bigint not null check (size > 0),
  -- what its header says
  columns text[] not null check (cardinality(columns) > 0),
  delimiter text not null check (delimiter in (',', ';')),
  -- how far it has come: so many bytes and line ends of the file are dealt with
  position bigint not null,
  lines integer not null check (lines >= 0),
  rows_created integer not null default 0 check (rows_created >= 0),
  rows_updated integer not null default 0 check (rows_updated >= 0),
  rows_failed integer not null default 0 check (rows_failed >= 0),
  -- the first of the rejected rows: [{line, column, message}]
  errors jsonb not null default '[]',
  -- why it ended before the end of the file, and where
  failure text,
  failure_line integer check (failure_line > 0),
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  check (position between 0 and size),
  check ((status in ('DONE', 'FAILED')) = (settled_at is not null)),
  check ((status = 'FAILED') = (failure is not null))
);

create index menu_imports_by_partner on menu_imports (partner_id, id);
-- one at a time
create unique index menu_imports_running on menu_imports (partner_id) where status = 'RUNNING';
create index menu_imports_unsettled on menu_imports (id) where settled_at is null;
create index menu_imports_by_age on menu_imports (created_at) where settled_at is not null;

-- A row without a key of its own is matched by its category and its name, in this order where items share them; a row
-- with a key may give it to the one that has none. Thousands of the same name are no more to read than one.
create index menu_items_by_name
on menu_items (category_id, lower(name), (archived_at is not null), (source = 'POS'), id);
create index menu_items_by_name_without_key
on menu_items (category_id, lower(name), (source = 'POS'), (archived_at is not null), id) where external_id is null;
drop index menu_items_by_category;
