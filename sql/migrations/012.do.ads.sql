create type campaign_status as enum ('DRAFT', 'ACTIVE', 'PAUSED', 'COMPLETED');

-- Clients learn when the banners last changed. So updated_at changes with everything that decides which banners are shown, and
-- with nothing else. It is the time of the write (clock_timestamp), not of a transaction that may have begun long before.
-- The counts change every second: room in each page keeps their updates from touching an index.
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
  impressions bigint not null default 0 check (impressions >= 0),
  clicks bigint not null default 0 check (clicks >= 0),
  -- in millionths of a major unit, so that a single impression has an exact price
  spent_micro bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default clock_timestamp(),
  check (ends_at > starts_at),
  check (spent_micro between 0 and budget_minor * 10000)
) with (fillfactor = 70);

create index ad_campaigns_by_status on ad_campaigns (status, id);
create index ad_campaigns_to_complete on ad_campaigns (status, ends_at);
-- the last change, start or end of any
create index ad_campaigns_by_change on ad_campaigns (updated_at);
create index ad_campaigns_by_start on ad_campaigns (starts_at);
create index ad_campaigns_by_end on ad_campaigns (ends_at);

create table ad_banners (
  id uuid primary key default new_id(),
  campaign_id uuid not null references ad_campaigns (id),
  -- an uploaded file, or an address elsewhere
  image text references files (name),
  image_url text,
  link text not null,
  -- one of the campaign's
  placement text not null,
  -- null: for every locale, for every city
  locale text,
  city_id text,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  weight integer not null default 1 check (weight between 1 and 100),
  impressions bigint not null default 0 check (impressions >= 0),
  clicks bigint not null default 0 check (clicks >= 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default clock_timestamp(),
  -- a banner that was shown is kept, for its counts and for the time of the last change
  deleted_at timestamptz,
  check (ends_at > starts_at),
  check ((image is null) <> (image_url is null))
) with (fillfactor = 70);

create index ad_banners_by_campaign on ad_banners (campaign_id, id);
create index ad_banners_on_show on ad_banners (placement, ends_at) where deleted_at is null;
create index ad_banners_by_change on ad_banners (updated_at);
create index ad_banners_by_start on ad_banners (starts_at);
create index ad_banners_by_end on ad_banners (ends_at);
create index ad_banners_by_image on ad_banners (image) where image is not null;

create table ad_banner_days (
  banner_id uuid not null references ad_banners (id),
  day date not null,
  campaign_id uuid not null references ad_campaigns (id),
  impressions bigint not null check (impressions >= 0),
  clicks bigint not null check (clicks >= 0),
  -- more than one user or address may cause: they are not charged, and not in the counts above
  invalid_impressions bigint not null check (invalid_impressions >= 0),
  invalid_clicks bigint not null check (invalid_clicks >= 0),
  spent_micro bigint not null check (spent_micro >= 0),
  primary key (banner_id, day)
) with (fillfactor = 70);

create index ad_banner_days_by_campaign on ad_banner_days (campaign_id, day);

-- What one process of the API counted within a moment. The process makes the id, so that inserting a batch again after a lost
-- answer counts nothing twice.
create table ad_batches (
  id uuid primary key,
  -- in the deployment's zone
  day date not null,
  banner_ids uuid[] not null,
  impressions integer[] not null,
  clicks integer[] not null,
  invalid_impressions integer[] not null,
  invalid_clicks integer[] not null,
  created_at timestamptz not null default now(),
  applied_at timestamptz,
  check (cardinality(impressions) = cardinality(banner_ids) and cardinality(clicks) = cardinality(banner_ids)),
  check (cardinality(invalid_impressions) = cardinality(banner_ids) and cardinality(invalid_clicks) = cardinality(banner_ids))
);

create index ad_batches_applied on ad_batches (applied_at) where applied_at is not null;
create index ad_batches_waiting on ad_batches (created_at) where applied_at is null;
