-- What was counted of a campaign and charged to it: sums that are kept up in the statement that adds a batch up. They change
-- every second and updated_at does not; room beside the rows keeps that from touching an index.
alter table ad_campaigns set (fillfactor = 70);
alter table ad_campaigns add column impressions bigint not null default 0 check (impressions >= 0);
alter table ad_campaigns add column clicks bigint not null default 0 check (clicks >= 0);
-- millionths of a major unit: so a single impression has an exact price, whatever a thousand cost
alter table ad_campaigns add column spent_micro bigint not null default 0
  check (spent_micro between 0 and budget_minor * 10000);

alter table ad_banners set (fillfactor = 70);
alter table ad_banners add column impressions bigint not null default 0 check (impressions >= 0);
alter table ad_banners add column clicks bigint not null default 0 check (clicks >= 0);

-- What one process of the API counted in a moment. It makes the id itself, so that handing a batch in again, when it never
-- heard what came of it, counts nothing twice.
create table ad_batches (
  id uuid primary key,
  -- in the deployment's zone
  day date not null,
  banner_ids uuid[] not null,
  impressions integer[] not null,
  clicks integer[] not null,
  created_at timestamptz not null default now(),
  -- when it was added up
  applied_at timestamptz,
  check (cardinality(impressions) = cardinality(banner_ids) and cardinality(clicks) = cardinality(banner_ids))
);

create index ad_batches_applied on ad_batches (applied_at) where applied_at is not null;
create index ad_batches_waiting on ad_batches (created_at) where applied_at is null;

create table ad_banner_days (
  banner_id uuid not null references ad_banners (id),
  day date not null,
  campaign_id uuid not null references ad_campaigns (id),
  impressions bigint not null check (impressions >= 0),
  clicks bigint not null check (clicks >= 0),
  spent_micro bigint not null check (spent_micro >= 0),
  primary key (banner_id, day)
);
alter table ad_banner_days set (fillfactor = 70);

create index ad_banner_days_by_campaign on ad_banner_days (campaign_id, day);
