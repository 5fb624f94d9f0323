create type loyalty_kind as enum ('ORDER', 'REFERRED', 'REFERRER');

-- What a customer has earned: the sum of their entries, kept up in the statement that writes an entry.
create table loyalty_accounts (
  user_id uuid primary key references users (id),
  points integer not null default 0 check (points >= 0),
  food_saved_grams bigint not null default 0 check (food_saved_grams >= 0),
  orders_completed integer not null default 0 check (orders_completed >= 0),
  referral_code text not null unique,
  -- who brought them; once, and before their first completed order
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
  -- the order that was completed, by this user or by whom they brought
  order_id uuid references orders (id),
  created_at timestamptz not null default now()
);

create index loyalty_entries_by_user on loyalty_entries (user_id, id);
-- nothing is credited twice
create unique index loyalty_entries_once_per_order on loyalty_entries (order_id, kind) where order_id is not null;
create unique index loyalty_entries_once_referred on loyalty_entries (user_id) where kind = 'REFERRED';
