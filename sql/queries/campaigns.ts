import { campaignMoves, type CampaignMove, type CampaignStatus } from "../../lib/domain/campaign-moves.js";
import type { Db } from "../db.js";
import { countRows, firstRow } from "../rows.js";

/** What an admin decides about a campaign; amounts are minor units. */
export interface CampaignFields {
  name: string;
  placements: string[];
  budgetMinor: number;
  /** The price of a thousand impressions; null: they are free. */
  cpmMinor: number | null;
  /** Null: from its activation. */
  startsAt: Date | null;
  /** Null: until an admin completes it. */
  endsAt: Date | null;
}

export interface CampaignRow extends CampaignFields {
  id: string;
  status: CampaignStatus;
  /** Of all its banners, deleted ones too. */
  impressions: number;
  clicks: number;
  /** Millionths of a major unit; never more than the budget. */
  spentMicro: number;
  createdAt: Date;
}

/** Inserts a campaign as a draft, with an audit record. */
export const insertCampaign = (db: Db, campaign: CampaignFields, actorId: string) =>
  firstRow(db<{ id: string; name: string; status: CampaignStatus }[]>`
    with inserted as (
      insert into ad_campaigns (name, placements, budget_minor, cpm_minor, starts_at, ends_at)
      values (
        ${campaign.name}, ${campaign.placements}::text[], ${campaign.budgetMinor}::bigint, ${campaign.cpmMinor}::bigint,
        ${campaign.startsAt}::timestamptz, ${campaign.endsAt}::timestamptz
      )
      returning id, name, status
    ), audited as (
      insert into audit_events (actor_id, action, subject_id)
      select ${actorId}::uuid, 'CAMPAIGN_CREATE', inserted.id from inserted
    )
    select id, name, status from inserted`);

/** Lists campaigns, newest first, after the one with id `after`. */
export const listCampaigns = (db: Db, status: CampaignStatus | null, after: string | null, limit: number) =>
  db<CampaignRow[]>`
    select id, name, placements, budget_minor, cpm_minor, status, starts_at, ends_at, impressions, clicks, spent_micro,
           created_at
    from ad_campaigns
    where (${status}::campaign_status is null or status = ${status}::campaign_status)
      and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc
    limit ${limit}`;

/** Finds a campaign. */
export const findCampaign = (db: Db, id: string) =>
  firstRow(db<CampaignRow[]>`
    select id, name, placements, budget_minor, cpm_minor, status, starts_at, ends_at, impressions, clicks, spent_micro,
           created_at
    from ad_campaigns
    where id = ${id}::uuid`);

/** Finds a campaign and locks it until the transaction ends; the lock also covers the placements of its banners. */
export const lockCampaign = (tx: Db, id: string) =>
  firstRow(tx<CampaignRow[]>`
    select id, name, placements, budget_minor, cpm_minor, status, starts_at, ends_at, impressions, clicks, spent_micro,
           created_at
    from ad_campaigns
    where id = ${id}::uuid
    for no key update`);

/** Updates a campaign, with an audit record that has the names of the changed fields. */
export const updateCampaign = async (
  db: Db,
  id: string,
  campaign: CampaignFields,
  actorId: string,
  changed: readonly string[],
) => {
  await db`
    with changed as (
      update ad_campaigns
      set name = ${campaign.name}, placements = ${campaign.placements}::text[],
          budget_minor = ${campaign.budgetMinor}::bigint, cpm_minor = ${campaign.cpmMinor}::bigint,
          starts_at = ${campaign.startsAt}::timestamptz, ends_at = ${campaign.endsAt}::timestamptz,
          updated_at = clock_timestamp()
      where id = ${id}::uuid
      returning id
    )
    insert into audit_events (actor_id, action, subject_id, details)
    select ${actorId}::uuid, 'CAMPAIGN_CHANGE', changed.id, jsonb_build_object('fields', ${[...changed]}::text[])
    from changed`;
};

/** Makes a move, with an audit record; undefined when the campaign's status or end does not allow it, or there is no such campaign. */
export const moveCampaign = (db: Db, id: string, move: CampaignMove, actorId: string) => {
  const { from, to, audit } = campaignMoves[move];
  return firstRow(db<CampaignRow[]>`
    with moved as (
      update ad_campaigns
      set status = ${to}::campaign_status, updated_at = clock_timestamp()
      where id = ${id}::uuid
        and status = any (${[...from]}::campaign_status[])
        and (${to}::campaign_status <> 'ACTIVE' or ends_at is null or ends_at > now())
      returning id, name, placements, budget_minor, cpm_minor, status, starts_at, ends_at, impressions, clicks, spent_micro, created_at
    ), audited as (
      insert into audit_events (actor_id, action, subject_id)
      select ${actorId}::uuid, ${audit}, moved.id from moved
    )
    select id, name, placements, budget_minor, cpm_minor, status, starts_at, ends_at, impressions, clicks, spent_micro,
           created_at
    from moved`);
};

/**
 * Completes up to `limit` campaigns that have ended, with audit records without an actor and events for their admins; returns
 * their number.
 */
export function completeEndedCampaigns(db: Db, limit: number) {
  const { from, to } = campaignMoves.COMPLETE;
  return countRows(db`
    with ended as (
      select id from ad_campaigns
      where status = any (${[...from]}::campaign_status[]) and ends_at <= now()
      order by ends_at
      limit ${limit}
      for no key update skip locked
    ), completed as (
      update ad_campaigns c
      set status = ${to}::campaign_status, updated_at = clock_timestamp()
      from ended
      where c.id = ended.id
      returning c.id, stage_job('fan-out', jsonb_build_object('event', 'CAMPAIGN_COMPLETED', 'subjectId', c.id))
    )
    insert into audit_events (action, subject_id)
    select 'CAMPAIGN_COMPLETE', completed.id from completed`);
}

/** A campaign's counts and charges of one day. */
export interface CampaignDay {
  /** YYYY-MM-DD, in the deployment's zone. */
  day: string;
  impressions: number;
  clicks: number;
  /** Invalid traffic, which is not in the counts above and was not charged. */
  invalidImpressions: number;
  invalidClicks: number;
  spentMicro: number;
}

/** Lists a campaign's days from `first` to `last`, both included, also days without counts. */
export const listCampaignDays = (db: Db, id: string, first: string, last: string) =>
  db<CampaignDay[]>`
    with counted as (
      select day, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks,
             sum(invalid_impressions)::bigint as invalid_impressions, sum(invalid_clicks)::bigint as invalid_clicks,
             sum(spent_micro)::bigint as spent_micro
      from ad_banner_days
      where campaign_id = ${id}::uuid and day between ${first}::date and ${last}::date
      group by day
    )
    select coalesce(calendar.day::date, 'epoch') as day, coalesce(counted.impressions, 0) as impressions,
           coalesce(counted.clicks, 0) as clicks, coalesce(counted.invalid_impressions, 0) as invalid_impressions,
           coalesce(counted.invalid_clicks, 0) as invalid_clicks, coalesce(counted.spent_micro, 0) as spent_micro
    from generate_series(${first}::timestamp, ${last}::timestamp, interval '1 day') as calendar (day)
    left join counted on counted.day = calendar.day::date
    order by 1`;
