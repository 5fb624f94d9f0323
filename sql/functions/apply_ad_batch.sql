-- Applies a batch once: adds its counts to its banners, their days and their campaigns, and charges the campaigns with a status
-- in `charged` for their impressions. Invalid traffic is only added to the days. A campaign is never charged more than its budget. One that has spent it gets the status
-- `completed`, an audit record and an event for its admins, and is returned. One call is one statement.
--
-- A campaign's counters are written only under its row lock. Campaigns are locked in id order.
create or replace function apply_ad_batch(batch_id uuid, charged campaign_status[], completed campaign_status)
returns table (campaign_id uuid)
language plpgsql
as $$
#variable_conflict use_column
declare
  batch ad_batches;
begin
  -- a concurrent call for the same batch waits here, and then finds it applied
  update ad_batches b set applied_at = statement_timestamp()
  where b.id = batch_id and b.applied_at is null
  returning * into batch;
  if not found then
    return;
  end if;

  perform from ad_campaigns c
  where c.id in (select b.campaign_id from ad_banners b where b.id = any (batch.banner_ids))
  order by c.id
  for no key update;

  return query
  with counted as (
    select b.id as banner_id, b.campaign_id, entry.impressions, entry.clicks, entry.invalid_impressions, entry.invalid_clicks,
           -- a thousandth of a minor unit is ten millionths of a major one
           case when c.status = any (charged) then entry.impressions * coalesce(c.cpm_minor, 0)::numeric * 10 else 0 end as cost,
           c.budget_minor::numeric * 10000 - c.spent_micro as budget_left
    from unnest(batch.banner_ids, batch.impressions, batch.clicks, batch.invalid_impressions, batch.invalid_clicks)
      as entry (banner_id, impressions, clicks, invalid_impressions, invalid_clicks)
    join ad_banners b on b.id = entry.banner_id
    join ad_campaigns c on c.id = b.campaign_id
  ), priced as (
    -- a banner is charged at most what the banners before it leave of the budget
    select banner_id, campaign_id, impressions, clicks, invalid_impressions, invalid_clicks, cost, budget_left,
           least(cost, greatest(0, budget_left - (sum(cost) over (partition by campaign_id order by banner_id) - cost))) as price
    from counted
  ), of_days as (
    insert into ad_banner_days as known (
      banner_id, day, campaign_id, impressions, clicks, invalid_impressions, invalid_clicks, spent_micro
    )
    select banner_id, batch.day, campaign_id, impressions, clicks, invalid_impressions, invalid_clicks, price::bigint
    from priced
    on conflict (banner_id, day) do update
    set impressions = known.impressions + excluded.impressions,
        clicks = known.clicks + excluded.clicks,
        invalid_impressions = known.invalid_impressions + excluded.invalid_impressions,
        invalid_clicks = known.invalid_clicks + excluded.invalid_clicks,
        spent_micro = known.spent_micro + excluded.spent_micro
  ), of_banners as (
    update ad_banners b
    set impressions = b.impressions + priced.impressions, clicks = b.clicks + priced.clicks
    from priced
    where b.id = priced.banner_id
  ), sums as (
    select priced.campaign_id, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks,
           sum(price)::bigint as price, sum(cost) > 0 and sum(cost) >= max(budget_left) as spends_all
    from priced
    group by priced.campaign_id
  ), of_campaigns as (
    update ad_campaigns c
    set impressions = c.impressions + sums.impressions, clicks = c.clicks + sums.clicks,
        spent_micro = c.spent_micro + sums.price,
        status = case when sums.spends_all then completed else c.status end,
        updated_at = case when sums.spends_all then clock_timestamp() else c.updated_at end
    from sums
    where c.id = sums.campaign_id
    returning c.id, sums.spends_all, case when sums.spends_all then
      stage_job('fan-out', jsonb_build_object('event', 'CAMPAIGN_COMPLETED', 'subjectId', c.id))
    end
  ), audited as (
    insert into audit_events (action, subject_id, details)
    select 'CAMPAIGN_COMPLETE', of_campaigns.id, '{"reason": "BUDGET_SPENT"}' from of_campaigns where of_campaigns.spends_all
  )
  select of_campaigns.id from of_campaigns where of_campaigns.spends_all order by of_campaigns.id;
end
$$;
