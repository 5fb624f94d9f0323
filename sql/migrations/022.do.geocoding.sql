create type geocode_status as enum ('ASKED', 'FOUND', 'NOT_FOUND', 'FAILED');

-- What the provider says of addresses, for a while; one row per address, however it was written.
create table geocodes (
  id uuid primary key default new_id(),
  address_key text not null unique,
  -- as it was asked for first
  address text not null,
  status geocode_status not null default 'ASKED',
  latitude double precision,
  longitude double precision,
  asked_at timestamptz not null default now(),
  -- until then the answer is used again; null while there is none
  expires_at timestamptz,
  -- whoever calls the provider does so alone until then
  claimed_until timestamptz,
  check ((status = 'FOUND') = (latitude is not null and longitude is not null)),
  check ((status in ('FOUND', 'NOT_FOUND')) = (expires_at is not null))
);

create index geocodes_by_age on geocodes (asked_at);

-- When the provider may be called next, by any process.
create table geocoder_pace (
  only_row boolean primary key default true check (only_row),
  next_at timestamptz not null
);
insert into geocoder_pace (next_at) values (now());

-- How far the coordinates of a partner are from where its address was found, in metres; null before, or where it was not.
alter table partners add column address_distance double precision;
