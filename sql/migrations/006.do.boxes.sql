create type box_status as enum ('ACTIVE', 'SOLD_OUT', 'EXPIRED');

create table boxes (
  id uuid primary key default new_id(),
  partner_id uuid not null references partners (id),
  -- the partner's city, so that an index lists a city's boxes in the order of their pickup windows; an expired box may name one
  -- that the partner has left, and that is deleted
  city_id text not null,
  title text not null,
  description text,
  image text references files (name),
  price_minor bigint not null check (price_minor >= 0),
  original_price_minor bigint check (original_price_minor >= price_minor),
  lowest_price_minor bigint check (lowest_price_minor >= 0),
  weight_grams integer check (weight_grams > 0),
  -- offered = quantity_available + quantity_reserved (sold and not cancelled)
  quantity_available integer not null check (quantity_available >= 0),
  quantity_reserved integer not null default 0 check (quantity_reserved >= 0),
  -- how many one customer may have, in orders that are open or collected; null: any number
  max_per_customer integer check (max_per_customer > 0),
  pickup_window_start timestamptz not null,
  pickup_window_end timestamptz not null,
  status box_status not null default 'ACTIVE',
  hidden_at timestamptz,
  -- a deleted box is kept for its cancelled orders
  deleted_at timestamptz,
  -- the box is listed again on these days of the week (1 is Monday) until that day, at the same local time
  repeat_days smallint[] check (repeat_days <@ '{1,2,3,4,5,6,7}' and cardinality(repeat_days) > 0),
  repeat_until date,
  -- which box this one repeats, and on which local day
  repeats_id uuid references boxes (id),
  repeats_on date,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (pickup_window_end > pickup_window_start),
  check ((repeat_days is null) = (repeat_until is null))
);

comment on column boxes.lowest_price_minor is
  'The price when it was listed, or a lower one since that users were notified of; null before its first change.';

create index boxes_by_partner on boxes (partner_id, id);
create index boxes_on_offer on boxes (partner_id, id) where status <> 'EXPIRED' and hidden_at is null;
create index boxes_to_expire on boxes (pickup_window_end) where status <> 'EXPIRED';
create index boxes_to_pick_up on boxes (pickup_window_start, id) where status = 'ACTIVE' and hidden_at is null;
create index boxes_to_pick_up_in_city on boxes (city_id, pickup_window_start, id) where status = 'ACTIVE' and hidden_at is null;
create unique index boxes_repeated_once on boxes (repeats_id, repeats_on) where repeats_id is not null;
create index boxes_repeating on boxes (repeat_until) where repeat_days is not null and deleted_at is null;
create index boxes_by_image on boxes (image) where image is not null;

create table box_items (
  box_id uuid not null references boxes (id) on delete cascade,
  menu_item_id uuid not null references menu_items (id),
  qty integer not null check (qty between 1 and 100),
  primary key (box_id, menu_item_id)
);

create index box_items_by_menu_item on box_items (menu_item_id);

create table favorites (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  box_id uuid references boxes (id),
  partner_id uuid references partners (id),
  created_at timestamptz not null default now(),
  check (num_nonnulls(box_id, partner_id) = 1)
);

create unique index favorites_once on favorites (user_id, coalesce(box_id, partner_id));
create index favorites_by_user on favorites (user_id, id);
create index favorites_by_box on favorites (box_id, id) where box_id is not null;
create index favorites_by_partner on favorites (partner_id, id) where partner_id is not null;
