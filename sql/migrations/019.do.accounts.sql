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

-- Who has no row has the defaults.
create table notification_preferences (
  user_id uuid primary key references users (id),
  push boolean not null,
  sms boolean not null,
  email boolean not null,
  marketing boolean not null,
  -- in the user's zone; none when both are the same
  quiet_hours_start time(0) not null,
  quiet_hours_end time(0) not null,
  updated_at timestamptz not null default now()
);

create type device_platform as enum ('ios', 'android', 'web');

create table devices (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  platform device_platform not null,
  -- an FCM registration token, or the endpoint of a Web Push subscription
  address text not null,
  -- of the address, which is too long for an index
  address_digest bytea not null unique check (length(address_digest) = 32),
  -- the keys of a Web Push subscription
  p256dh text,
  auth text,
  locale text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((p256dh is null) = (auth is null)),
  check (platform = 'web' or p256dh is null)
);

create index devices_by_user on devices (user_id, updated_at);

-- Credentials of machines. Revoking one deletes it; the audit events tell of it.
create table api_keys (
  id uuid primary key default new_id(),
  name text not null,
  digest bytea not null unique check (length(digest) = 32),
  scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ '{ads:read,geo:write}'),
  created_at timestamptz not null default now()
);

-- Phones that nobody has logged in with yet: whoever does first joins the staff.
create table staff_invitations (
  id uuid primary key default new_id(),
  partner_id uuid not null references partners (id),
  phone text not null,
  created_at timestamptz not null default now(),
  unique (partner_id, phone)
);

create index staff_invitations_by_phone on staff_invitations (phone, id);

-- [{day, opens, closes}], as the API takes and gives it
alter table partners add column opening_hours jsonb not null default '[]';

-- null: nobody but a registering partner has named this city
alter table cities add column named_at timestamptz;

create index partners_active_by_city on partners (city_id, id) where status = 'ACTIVE';
