create type order_status as enum ('ACCEPTED', 'READY', 'COMPLETED', 'CANCELLED', 'NO_SHOW');
create type order_actor as enum ('CUSTOMER', 'PARTNER', 'SERVICE');

-- Prices, commission and pickup window are fixed when the order is placed: later changes of boxes and rates do not affect it.
create table orders (
  id uuid primary key default new_id(),
  -- null: taken at the counter, from a customer without an account. A stand-in user would collect points and be notified.
  user_id uuid references users (id),
  partner_id uuid not null references partners (id),
  -- its customer owned or worked for the partner: it earns no points, and they cannot review it
  by_member boolean not null default false,
  -- by a POS, which alone says who its customer is: it is none of the customer's open orders or no-shows
  taken_elsewhere boolean not null default false,
  status order_status not null default 'ACCEPTED',
  address text,
  total_minor bigint not null check (total_minor >= 0),
  discount_minor bigint not null default 0 check (discount_minor between 0 and total_minor),
  amount_due_minor bigint not null generated always as (total_minor - discount_minor) stored,
  commission_percent numeric(5, 2) not null,
  commission_minor bigint not null,
  net_minor bigint not null generated always as (total_minor - discount_minor - commission_minor) stored,
  pickup_code text not null,
  estimated_ready_at timestamptz not null,
  -- from the first of the order's boxes to the last; null without a box
  pickup_window_start timestamptz,
  pickup_window_end timestamptz,
  -- from then on an open order counts as a no-show
  no_show_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- ids begin with the time, so these also serve "newest first" and ranges of time
create index orders_by_user on orders (user_id, id);
-- what limits a customer's next order; cancelled orders, of which there may be any number, are none of it
create index orders_not_cancelled on orders (user_id, id) where status <> 'CANCELLED';
create index orders_by_partner on orders (partner_id, id);
create index orders_by_partner_and_status on orders (partner_id, status, id);
create index orders_to_close on orders (no_show_at) where status in ('ACCEPTED', 'READY');
-- the addresses of customers without an account, which are erased by age
create index orders_with_counter_address on orders (created_at) where user_id is null and address is not null;

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

-- Every change of an order's status.
create table order_events (
  order_id uuid not null references orders (id),
  position integer not null,
  actor_role order_actor not null,
  -- a user; null for the service itself
  actor_id uuid,
  from_status order_status,
  to_status order_status not null,
  at timestamptz not null default now(),
  primary key (order_id, position)
);

-- For 24 hours: which order a user's key created, and from which payload.
create table idempotency_keys (
  user_id uuid not null,
  key text not null,
  fingerprint bytea not null,
  order_id uuid not null references orders (id),
  created_at timestamptz not null default now(),
  primary key (user_id, key)
);

create index idempotency_keys_by_age on idempotency_keys (created_at);
