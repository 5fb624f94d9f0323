create type campaign_status as enum ('DRAFT', 'ACTIVE', 'PAUSED', 'COMPLETED');

-- Callers are told when the banners last changed. So updated_at changes with whatever decides what is shown, and with
-- nothing else; it is the time of the write itself (clock_timestamp), not that of a transaction that began long before.
create table ad_campaigns (
  id uuid primary key default new_id(),
  name text not null,
  placements text[] not null check (cardinality(placements) between 1 and 20),
  budget_minor bigint not null check (budget_minor >= 0),
  -- the price of a thousand impressions
  cpm_minor bigint check (cpm_minor >= 0),
  status campaign_status not null default 'DRAFT',
  -- null: from its activation on, or until it is completed by hand
  starts_at timestamptz,
  ends_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default clock_timestamp(),
  check (ends_at > starts_at)
);

create index ad_campaigns_by_status on ad_campaigns (status, id);
create index ad_campaigns_to_complete on ad_campaigns (status, ends_at);
-- when did anything last change, start or end?
create index ad_campaigns_by_change on ad_campaigns (updated_at);
create index ad_campaigns_by_start on ad_campaigns (starts_at);
create index ad_campaigns_by_end on ad_campaigns (ends_at);

create table ad_banners (
  id uuid primary key default new_id(),
  campaign_id uuid not null references ad_campaigns (id),
  image_url text not null,
  link text not null,
  -- one of the campaign's
  placement text not null,
  -- null: for every locale, for every city
  locale text,
  city_id text,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  weight integer not null default 1 check (weight between 1 and 100),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default clock_timestamp(),
  -- what was shown stays, for what is counted of it and for when it went
  deleted_at timestamptz,
  check (ends_at > starts_at)
);

create index ad_banners_by_campaign on ad_banners (campaign_id, id);
create index ad_banners_on_show on ad_banners (placement, ends_at) where deleted_at is null;
create index ad_banners_by_change on ad_banners (updated_at);
create index ad_banners_by_start on ad_banners (starts_at);
create index ad_banners_by_end on ad_banners (ends_at);
