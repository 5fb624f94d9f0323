import type { Db } from "../db.js";
import { firstRow, hasRows, onlyRow } from "../rows.js";

/** What an admin decides about a banner. */
export interface BannerFields {
  /** An external URL; null when `image` is set. */
  imageUrl: string | null;
  /** The name of an uploaded image, which the caller has claimed. */
  image: string | null;
  link: string;
  placement: string;
  /** Null: for every locale. */
  locale: string | null;
  /** Null: for every city. */
  cityId: string | null;
  startsAt: Date;
  endsAt: Date;
  weight: number;
}

export interface BannerRow extends BannerFields {
  id: string;
  campaignId: string;
  impressions: number;
  clicks: number;
}

/** Inserts a banner, with an audit record. The caller has locked the campaign, and checked that the placement is one of its own. */
export const insertBanner = (tx: Db, campaignId: string, banner: BannerFields, actorId: string) =>
  firstRow(tx<BannerRow[]>`
    with inserted as (
      insert into ad_banners (campaign_id, image_url, image, link, placement, locale, city_id, starts_at, ends_at, weight)
      values (
        ${campaignId}::uuid, ${banner.imageUrl}, ${banner.image}, ${banner.link}, ${banner.placement}, ${banner.locale}, ${banner.cityId},
        ${banner.startsAt}::timestamptz, ${banner.endsAt}::timestamptz, ${banner.weight}::integer
      )
      returning id, campaign_id, image_url, image, link, placement, locale, city_id, starts_at, ends_at, weight, impressions, clicks
    ), audited as (
      insert into audit_events (actor_id, action, subject_id)
      select ${actorId}::uuid, 'BANNER_CREATE', inserted.id from inserted
    )
    select id, campaign_id, image_url, image, link, placement, locale, city_id, starts_at, ends_at, weight, impressions,
           clicks
    from inserted`);

/** Lists a campaign's banners, oldest first, after the one with id `after`. */
export const listBanners = (db: Db, campaignId: string, after: string | null, limit: number) =>
  db<BannerRow[]>`
    select id, campaign_id, image_url, image, link, placement, locale, city_id, starts_at, ends_at, weight, impressions,
           clicks
    from ad_banners
    where campaign_id = ${campaignId}::uuid and deleted_at is null and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;

/** Finds a banner of a campaign. */
export const findBanner = (db: Db, campaignId: string, id: string) =>
  firstRow(db<BannerRow[]>`
    select id, campaign_id, image_url, image, link, placement, locale, city_id, starts_at, ends_at, weight, impressions,
           clicks
    from ad_banners
    where id = ${id}::uuid and campaign_id = ${campaignId}::uuid and deleted_at is null`);

/** Lists the placements where a campaign has banners. */
export const listBannerPlacements = async (db: Db, campaignId: string) => {
  const rows = await db<{ placement: string }[]>`
    select distinct placement from ad_banners where campaign_id = ${campaignId}::uuid and deleted_at is null`;
  return rows.map(({ placement }) => placement);
};

/** Updates a banner, with an audit record that has the names of the changed fields. The caller has locked its campaign. */
export const updateBanner = async (
  tx: Db,
  id: string,
  banner: BannerFields,
  actorId: string,
  changed: readonly string[],
) => {
  await tx`
    with changed as (
      update ad_banners
      set image_url = ${banner.imageUrl}, image = ${banner.image}, link = ${banner.link}, placement = ${banner.placement}, locale = ${banner.locale},
          city_id = ${banner.cityId}, starts_at = ${banner.startsAt}::timestamptz, ends_at = ${banner.endsAt}::timestamptz,
          weight = ${banner.weight}::integer, updated_at = clock_timestamp()
      where id = ${id}::uuid
      returning id
    )
    insert into audit_events (actor_id, action, subject_id, details)
    select ${actorId}::uuid, 'BANNER_CHANGE', changed.id, jsonb_build_object('fields', ${[...changed]}::text[])
    from changed`;
};

/** Deletes a banner, with an audit record; false when the campaign has no such banner. */
export const deleteBanner = (db: Db, campaignId: string, id: string, actorId: string) =>
  hasRows(db<{ id: string }[]>`
    with deleted as (
      update ad_banners
      set deleted_at = now(), updated_at = clock_timestamp()
      where id = ${id}::uuid and campaign_id = ${campaignId}::uuid and deleted_at is null
      returning id
    ), audited as (
      insert into audit_events (actor_id, action, subject_id)
      select ${actorId}::uuid, 'BANNER_DELETE', deleted.id from deleted
    )
    select id from deleted`);

/** Lists the banners of active campaigns that are shown at a placement now, highest weight first. */
export const listBannersOnShow = (
  db: Db,
  { placement, locale, cityId }: Pick<BannerFields, "placement" | "locale" | "cityId">,
  limit: number,
) =>
  db<Omit<BannerRow, "campaignId" | "locale" | "cityId" | "impressions" | "clicks">[]>`
    select b.id, b.image_url, b.image, b.link, b.placement, b.starts_at, b.ends_at, b.weight
    from ad_banners b
    join ad_campaigns c on c.id = b.campaign_id
    where b.placement = ${placement} and b.deleted_at is null and b.starts_at <= now() and b.ends_at > now()
      and (b.locale is null or b.locale = ${locale})
      and (b.city_id is null or b.city_id = ${cityId})
      and c.status = 'ACTIVE'
      and (c.starts_at is null or c.starts_at <= now())
      and (c.ends_at is null or c.ends_at > now())
    order by b.weight desc, b.id
    limit ${limit}`;

/** Finds a banner's link, and whether it is shown now; undefined when it is deleted or its campaign is a draft. */
export const findBannerLink = (db: Db, id: string) =>
  firstRow(db<{ id: string; link: string; onShow: boolean }[]>`
    select b.id, b.link, coalesce(
      c.status = 'ACTIVE' and b.starts_at <= now() and b.ends_at > now()
        and (c.starts_at is null or c.starts_at <= now())
        and (c.ends_at is null or c.ends_at > now()),
      false
    ) as on_show
    from ad_banners b
    join ad_campaigns c on c.id = b.campaign_id
    where b.id = ${id}::uuid and b.deleted_at is null and c.status <> 'DRAFT'`);

/** Finds when campaigns or banners last changed, started or ended, and the present time by the same clock. */
export const findAdsChange = (db: Db) =>
  onlyRow(db<{ now: Date; changedAt: Date }[]>`
    select now() as now, coalesce(greatest(
      (select max(updated_at) from ad_campaigns),
      (select max(starts_at) from ad_campaigns where starts_at <= now()),
      (select max(ends_at) from ad_campaigns where ends_at <= now()),
      (select max(updated_at) from ad_banners),
      (select max(starts_at) from ad_banners where starts_at <= now()),
      (select max(ends_at) from ad_banners where ends_at <= now())
    ), 'epoch') as changed_at`);
