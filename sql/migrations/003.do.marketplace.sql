-- Counters of the general rate limits; losing them in a crash costs nothing.
create unlogged table rate_counters (
  key text not null,
  window_start timestamptz not null,
  hits integer not null,
  primary key (key, window_start)
);

-- The platform's own key of a city. An unknown key becomes a city when a partner registers there; an admin names it later.
create table cities (
  id text primary key check (id ~ '^[A-Za-z0-9_.:-]{1,64}$'),
  name text not null,
  timezone text not null
);

create type partner_status as enum ('PENDING_REVIEW', 'ACTIVE', 'REJECTED', 'SUSPENDED');

create table partners (
  id uuid primary key default new_id(),
  slug text not null unique,
  name text not null,
  city_id text not null references cities (id),
  address text not null,
  latitude double precision not null check (latitude between -90 and 90),
  longitude double precision not null check (longitude between -180 and 180),
  -- the contact that the public does not see
  phone text,
  email text,
  description text,
  timezone text,
  status partner_status not null default 'PENDING_REVIEW',
  status_reason text,
  -- whoever logs in with owner_phone becomes the owner, as long as there is none
  owner_id uuid unique references users (id),
  owner_phone text,
  preparation_minutes integer not null default 20 check (preparation_minutes between 0 and 1440),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- first time the partner became ACTIVE: from then on its public profile is shown
  activated_at timestamptz
);

create index partners_by_status on partners (status, id);
create index partners_by_city on partners (city_id, id);
-- one phone waits for one partner; a rejected registration blocks nobody
create unique index partners_by_owner_phone on partners (owner_phone) where owner_phone is not null and status <> 'REJECTED';

create table partner_staff (
  user_id uuid primary key references users (id),
  partner_id uuid not null references partners (id),
  created_at timestamptz not null default now()
);

create index partner_staff_by_partner on partner_staff (partner_id);

-- Who moved a partner, and what else admins did: written in the transaction of the act.
create table audit_events (
  id uuid primary key default new_id(),
  actor_id uuid references users (id),
  action text not null,
  subject_id uuid,
  details jsonb not null default '{}',
  created_at timestamptz not null default now()
);

create index audit_events_by_subject on audit_events (subject_id, id);

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
  price_minor bigint not null check (price_minor >= 0),
  description text,
  weight_grams integer check (weight_grams > 0),
  external_id text,
  source item_source not null default 'MANUAL',
  available boolean not null default true,
  archived_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create unique index menu_items_by_external_id on menu_items (partner_id, external_id) where external_id is not null;
create index menu_items_by_partner on menu_items (partner_id, id);
create index menu_items_by_category on menu_items (category_id);

create type box_status as enum ('ACTIVE', 'SOLD_OUT', 'EXPIRED');

create table boxes (
  id uuid primary key default new_id(),
  partner_id uuid not null references partners (id),
  title text not null,
  description text,
  price_minor bigint not null check (price_minor >= 0),
  original_price_minor bigint check (original_price_minor >= price_minor),
  weight_grams integer check (weight_grams > 0),
  -- what was offered = quantity_available + quantity_reserved (sold and not cancelled)
  quantity_available integer not null check (quantity_available >= 0),
  quantity_reserved integer not null default 0 check (quantity_reserved >= 0),
  pickup_window_start timestamptz not null,
  pickup_window_end timestamptz not null,
  status box_status not null default 'ACTIVE',
  hidden_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (pickup_window_end > pickup_window_start)
);

create index boxes_by_partner on boxes (partner_id, id);
create index boxes_on_offer on boxes (partner_id, id) where status <> 'EXPIRED' and hidden_at is null;
create index boxes_to_expire on boxes (pickup_window_end) where status <> 'EXPIRED';

create table box_items (
  box_id uuid not null references boxes (id) on delete cascade,
  menu_item_id uuid not null references menu_items (id),
  qty integer not null check (qty between 1 and 100),
  primary key (box_id, menu_item_id)
);

create index box_items_by_menu_item on box_items (menu_item_id);

-- The percentage the platform keeps; the row without a partner is the global rate.
create table commission_rates (
  partner_id uuid unique nulls not distinct references partners (id),
  rate_percent numeric(5, 2) not null check (rate_percent between 0 and 100),
  updated_at timestamptz not null default now()
);

create type order_status as enum ('ACCEPTED', 'READY', 'COMPLETED', 'CANCELLED', 'NO_SHOW');

create table orders (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  partner_id uuid not null references partners (id),
  status order_status not null default 'ACCEPTED',
  address text,
  -- economics are fixed when the order is placed: later changes of prices and rates do not touch it
  total_minor bigint not null check (total_minor >= 0),
  discount_minor bigint not null default 0 check (discount_minor between 0 and total_minor),
  amount_due_minor bigint not null generated always as (total_minor - discount_minor) stored,
  commission_percent numeric(5, 2) not null,
  commission_minor bigint not null,
  pickup_code text not null,
  estimated_ready_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- ids begin with the time, so these also serve "newest first" and ranges of time
create index orders_by_user on orders (user_id, id);
create index orders_by_partner on orders (partner_id, id);

create table order_items (
  order_id uuid not null references orders (id),
  position integer not null,
  menu_item_id uuid references menu_items (id),
  box_id uuid references boxes (id),
  name text not null,
  price_minor bigint not null,
  qty integer not null check (qty between 1 and 100),
  primary key (order_id, position),
  check (num_nonnulls(menu_item_id, box_id) = 1)
);

create index order_items_by_box on order_items (box_id) where box_id is not null;
create index order_items_by_menu_item on order_items (menu_item_id) where menu_item_id is not null;

-- Every change of an order's status: who moved it, when, from where to where.
create table order_events (
  order_id uuid not null references orders (id),
  position integer not null,
  -- a user; null for the service itself
  actor_id uuid,
  from_status order_status,
  to_status order_status not null,
  at timestamptz not null default now(),
  primary key (order_id, position)
);

-- One row per (user, key) for 24 hours: which order the key made, and from which payload.
create table idempotency_keys (
  user_id uuid not null,
  key text not null,
  fingerprint bytea not null,
  order_id uuid not null references orders (id),
  created_at timestamptz not null default now(),
  primary key (user_id, key)
);

create index idempotency_keys_by_age on idempotency_keys (created_at);

create type notification_status as enum ('QUEUED', 'DEFERRED', 'SENT', 'FAILED', 'DROPPED');

create table notifications (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  kind text not null,
  -- what the message is about; the text is made from these rows when it is delivered
  order_id uuid references orders (id),
  partner_id uuid references partners (id),
  status notification_status not null default 'QUEUED',
  reason text,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  settled_at timestamptz
);

create index notifications_by_user on notifications (user_id, id);
-- one event of an order tells a person once, however often its job runs
create unique index notifications_once_per_order on notifications (order_id, user_id, kind) where order_id is not null;
