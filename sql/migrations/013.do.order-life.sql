create type order_actor as enum ('CUSTOMER', 'PARTNER', 'SERVICE');

alter table order_events add column actor_role order_actor not null default 'CUSTOMER';
alter table order_events alter column actor_role drop default;

-- From the first of the order's boxes to the last; null when it has none. What was agreed when the order was placed holds.
alter table orders add column pickup_window_start timestamptz;
alter table orders add column pickup_window_end timestamptz;
-- from then on an order that nobody picked up counts as a no-show
alter table orders add column no_show_at timestamptz;
alter table orders add column net_minor bigint not null generated always as (total_minor - discount_minor - commission_minor) stored;

update orders o
set pickup_window_start = boxes.opens, pickup_window_end = boxes.closes,
    no_show_at = coalesce(boxes.closes, o.estimated_ready_at + interval '24 hours') + interval '1 hour'
from (
  select o.id, min(b.pickup_window_start) as opens, max(b.pickup_window_end) as closes
  from orders o
  left join order_items i on i.order_id = o.id
  left join boxes b on b.id = i.box_id
  group by o.id
) as boxes
where boxes.id = o.id;
alter table orders alter column no_show_at set not null;

create index orders_to_close on orders (no_show_at) where status in ('ACCEPTED', 'READY');
create index orders_by_partner_and_status on orders (partner_id, status, id);

-- A promo's uses are counted in its row, whose lock makes redemptions take turns.
create table promo_codes (
  id uuid primary key default new_id(),
  code text not null unique check (code ~ '^[A-Z0-9_-]{3,32}$'),
  discount_percent numeric(5, 2) check (discount_percent > 0 and discount_percent <= 100),
  discount_minor bigint check (discount_minor > 0),
  min_order_minor bigint not null default 0 check (min_order_minor >= 0),
  max_discount_minor bigint check (max_discount_minor > 0),
  starts_at timestamptz,
  ends_at timestamptz,
  max_uses integer check (max_uses > 0),
  max_uses_per_user integer not null default 1 check (max_uses_per_user > 0),
  -- only for this partner's orders
  partner_id uuid references partners (id),
  active boolean not null default true,
  uses integer not null default 0 check (uses >= 0 and uses <= coalesce(max_uses, uses)),
  created_at timestamptz not null default now(),
  check (num_nonnulls(discount_percent, discount_minor) = 1),
  check (ends_at > starts_at)
);

create index promo_codes_by_partner on promo_codes (partner_id) where partner_id is not null;

create table promo_redemptions (
  order_id uuid primary key references orders (id),
  promo_id uuid not null references promo_codes (id),
  user_id uuid not null references users (id),
  -- when the order was cancelled, which gives the use back
  returned_at timestamptz
);

create index promo_redemptions_by_user on promo_redemptions (user_id, promo_id);
create index promo_redemptions_by_promo on promo_redemptions (promo_id);

-- The promo that a customer wants for their next order.
create table promo_attachments (
  user_id uuid primary key references users (id),
  promo_id uuid not null references promo_codes (id),
  attached_at timestamptz not null default now()
);

create index promo_attachments_by_promo on promo_attachments (promo_id);

-- it takes a promo code now
drop function if exists place_order(uuid, uuid, uuid[], integer[], bigint, text, text, bytea, text, text);
