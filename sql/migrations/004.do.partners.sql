-- A city has the platform's own key. An unknown key becomes a city when a partner registers there; an admin names it later, or it
-- is deleted when no partner is left there.
create table cities (
  id text primary key check (id ~ '^[A-Za-z0-9_.:-]{1,64}$'),
  name text not null,
  timezone text not null,
  -- null: no admin has named it yet
  named_at timestamptz,
  created_at timestamptz not null default now()
);

create type geocode_status as enum ('ASKED', 'FOUND', 'NOT_FOUND', 'FAILED');

-- The provider's results for addresses, until they expire.
create table geocodes (
  id uuid primary key default new_id(),
  -- the hash of the address
  address_key text not null unique,
  -- in its canonical form, which the provider is asked for: however it was written, an address has one row
  address text not null,
  status geocode_status not null default 'ASKED',
  latitude double precision,
  longitude double precision,
  -- the job that asks the provider; staged_jobs may have deleted it
  job_id bigint,
  asked_at timestamptz not null default now(),
  -- until then the result is used again; null without a result
  expires_at timestamptz,
  -- until then one worker alone calls the provider
  claimed_until timestamptz,
  check ((status = 'FOUND') = (latitude is not null and longitude is not null)),
  check ((status in ('FOUND', 'NOT_FOUND')) = (expires_at is not null))
);

create index geocodes_by_age on geocodes (asked_at);
create index geocodes_waiting on geocodes (job_id) where status = 'ASKED';

-- When any process may call the provider next.
create table geocoder_pace (
  only_row boolean primary key default true check (only_row),
  next_at timestamptz not null
);
insert into geocoder_pace (next_at) values (now());

create type partner_status as enum ('PENDING_REVIEW', 'ACTIVE', 'REJECTED', 'SUSPENDED');

create table partners (
  id uuid primary key default new_id(),
  slug text not null unique,
  name text not null,
  description text,
  city_id text not null references cities (id),
  address text not null,
  latitude double precision not null check (latitude between -90 and 90),
  longitude double precision not null check (longitude between -180 and 180),
  -- in the Mercator projection with the Earth's radius as its unit. The projection has no poles: places beyond 89.9° are
  -- stored at its edge. Distances on it only narrow a search down (see functions/geography.sql).
  location point not null generated always as (
    point(radians(longitude), asinh(tan(radians(least(89.9, greatest(-89.9, latitude))))))
  ) stored,
  -- metres from the coordinates to where its address was found; null when it was not, or not yet
  address_distance double precision,
  timezone text,
  -- [{day, opens, closes}], as in the API
  opening_hours jsonb not null default '[]',
  preparation_minutes integer not null default 20 check (preparation_minutes between 0 and 1440),
  -- the contact, which the public does not see
  phone text,
  email text,
  -- while there is no owner, the user who logs in with owner_phone becomes it
  owner_id uuid unique references users (id),
  owner_phone text,
  -- when its owner deleted their account: the contact was theirs, and is erased later unless there is a new owner by then
  owner_left_at timestamptz,
  status partner_status not null default 'PENDING_REVIEW',
  status_reason text,
  -- the items of its menu that were made by hand and by CSV, which are never deleted
  own_items integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- when the partner first became ACTIVE: from then on its public profile is shown
  activated_at timestamptz
);

create index partners_by_status on partners (status, id);
create index partners_by_city on partners (city_id, id);
create index partners_active_by_city on partners (city_id, id) where status = 'ACTIVE';
create index partners_by_location on partners using gist (location) where status = 'ACTIVE';
-- anyone may name any phone: only what an admin has approved keeps another partner from the phone
create unique index partners_by_owner_phone on partners (owner_phone) where owner_phone is not null and status = 'ACTIVE';
-- for the deletion and the erasure of an account, which find its partners by its phone
create index partners_by_phone on partners (phone) where phone is not null;
create index partners_by_any_owner_phone on partners (owner_phone) where owner_phone is not null;
create index partners_left_with_contact on partners (owner_left_at)
  where owner_left_at is not null and owner_id is null
    and (phone is not null or email is not null or status_reason is not null);

create table partner_staff (
  user_id uuid primary key references users (id),
  partner_id uuid not null references partners (id),
  created_at timestamptz not null default now()
);

create index partner_staff_by_partner on partner_staff (partner_id);

-- Phones whose holders may join the staff, for 30 days.
create table staff_invitations (
  id uuid primary key default new_id(),
  partner_id uuid not null references partners (id),
  phone text not null,
  created_at timestamptz not null default now(),
  unique (partner_id, phone)
);

create index staff_invitations_by_phone on staff_invitations (phone, id);
create index staff_invitations_by_age on staff_invitations (created_at);

-- The percentage of an order that the platform keeps; the row without a partner is the global rate.
create table commission_rates (
  partner_id uuid unique nulls not distinct references partners (id),
  rate_percent numeric(5, 2) not null check (rate_percent between 0 and 100),
  updated_at timestamptz not null default now()
);
