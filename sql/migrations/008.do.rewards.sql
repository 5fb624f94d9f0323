-- A promo's uses are counted in its row, so that its lock makes redemptions take turns.
create table promo_codes (
  id uuid primary key default new_id(),
  code text not null unique check (code ~ '^[A-Z0-9_-]{3,32}$'),
  -- only for orders of this partner
  partner_id uuid references partners (id),
  discount_percent numeric(5, 2) check (discount_percent > 0 and discount_percent <= 100),
  discount_minor bigint check (discount_minor > 0),
  max_discount_minor bigint check (max_discount_minor > 0),
  min_order_minor bigint not null default 0 check (min_order_minor >= 0),
  starts_at timestamptz,
  ends_at timestamptz,
  max_uses integer check (max_uses > 0),
  max_uses_per_user integer not null default 1 check (max_uses_per_user > 0),
  uses integer not null default 0 check (uses >= 0 and uses <= coalesce(max_uses, uses)),
  active boolean not null default true,
  created_at timestamptz not null default now(),
  check (num_nonnulls(discount_percent, discount_minor) = 1),
  check (ends_at > starts_at)
);

create index promo_codes_by_partner on promo_codes (partner_id) where partner_id is not null;

create table promo_redemptions (
  order_id uuid primary key references orders (id),
  promo_id uuid not null references promo_codes (id),
  user_id uuid not null references users (id),
  -- when the order was cancelled, which returns the use
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

create type loyalty_kind as enum ('ORDER', 'REFERRED', 'REFERRER');

-- The sums of a customer's entries, updated in the statement that writes an entry.
create table loyalty_accounts (
  user_id uuid primary key references users (id),
  points integer not null default 0 check (points >= 0),
  food_saved_grams bigint not null default 0 check (food_saved_grams >= 0),
  orders_completed integer not null default 0 check (orders_completed >= 0),
  referral_code text not null unique,
  -- set once, and before their first completed order
  referrer_id uuid references users (id),
  created_at timestamptz not null default now(),
  check (referrer_id <> user_id)
);

create index loyalty_accounts_by_referrer on loyalty_accounts (referrer_id) where referrer_id is not null;

create table loyalty_entries (
  id uuid primary key default new_id(),
  user_id uuid not null references loyalty_accounts (user_id),
  kind loyalty_kind not null,
  points integer not null,
  grams bigint not null default 0,
  -- the completed order, of this user or of the customer they referred
  order_id uuid references orders (id),
  created_at timestamptz not null default now()
);

create index loyalty_entries_by_user on loyalty_entries (user_id, id);
-- nothing is credited twice
create unique index loyalty_entries_once_per_order on loyalty_entries (order_id, kind) where order_id is not null;
create unique index loyalty_entries_once_referred on loyalty_entries (user_id) where kind = 'REFERRED';
