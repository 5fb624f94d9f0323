import type { AnnouncementKind } from "../../lib/domain/announcements.js";
import { config } from "../../lib/process/config.js";
import { loyaltyLevel, type LoyaltyLevel } from "../../lib/domain/loyalty-level.js";
import type { Db } from "../db.js";

/** The notifications that were written, none of which was there before. */
export type Written = readonly { id: string }[];

/** Writes who is to be told of a new order: its customer, and the partner's people, who know of one that their own till made. */
export const insertOrderPlacedNotifications = (db: Db, orderId: string) =>
  db<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id, partner_id)
    select recipient.user_id, recipient.kind, o.id, o.partner_id
    from orders o
    cross join lateral (
      select o.user_id, 'ORDER_ACCEPTED' as kind where o.user_id is not null
      union all
      select person, 'NEW_ORDER'
      from people_of_partner(o.partner_id) as person
      where not exists (select from pos_orders p where p.order_id = o.id)
    ) as recipient
    where o.id = ${orderId}::uuid
    on conflict (order_id, user_id, kind) where order_id is not null do nothing
    returning id`;

/** When an order's customer is reminded of it, half an hour before they can pick it up; undefined when that is past, or it has no pickup window. */
export const findReminderTime = async (db: Db, orderId: string) =>
  (
    await db<{ remindAt: Date }[]>`
      with reminder as (
        select coalesce(pickup_window_start, created_at) - interval '30 minutes' as at from orders where id = ${orderId}::uuid
      )
      select coalesce(at, now()) as "remindAt" from reminder where at > now()`
  )[0]?.remindAt;

/** Writes what an order's customer is to be told of it. */
export const insertCustomerNotification = (db: Db, orderId: string, kind: AnnouncementKind) =>
  db<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id, partner_id)
    select u.id, ${kind}, o.id, o.partner_id
    from orders o
    join users u on u.id = o.user_id and u.deleted_at is null
    where o.id = ${orderId}::uuid
    on conflict (order_id, user_id, kind) where order_id is not null do nothing
    returning id`;

/** Writes who is to be told that an order was cancelled: whichever side did not do it. */
export const insertOrderCancelledNotifications = (db: Db, orderId: string) =>
  db<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id, partner_id)
    select recipient.user_id, recipient.kind, o.id, o.partner_id
    from orders o
    join order_events e on e.order_id = o.id and e.to_status = 'CANCELLED'
    cross join lateral (
      select u.id as user_id, 'ORDER_CANCELLED' as kind
      from users u
      where u.id = o.user_id and u.deleted_at is null and e.actor_role <> 'CUSTOMER'
      union all
      select person, 'ORDER_CANCELLED_BY_CUSTOMER'
      from people_of_partner(o.partner_id) as person
      where e.actor_role = 'CUSTOMER'
    ) as recipient
    where o.id = ${orderId}::uuid
    on conflict (order_id, user_id, kind) where order_id is not null do nothing
    returning id`;

interface Reward {
  userId: string;
  kind: "ORDER" | "REFERRED" | "REFERRER";
  points: number;
  /** All that they had earned before; null when these are the first. */
  earnedBefore: number | null;
}

type News = {
  userId: string;
  kind: AnnouncementKind;
  /** Of their own order. */
  own: boolean;
  facts: { points: number } | { level: LoyaltyLevel };
};

/** Writes what a completed order has earned: its customer, and whoever brought them, points and perhaps a level. */
export async function insertRewardNotifications(db: Db, orderId: string): Promise<Written> {
  const rewards = await db<Reward[]>`
    select
      e.user_id as "userId", e.kind, e.points,
      (select sum(b.points)::integer from loyalty_entries b where b.user_id = e.user_id and b.id < e.id) as "earnedBefore"
    from loyalty_entries e
    join users u on u.id = e.user_id and u.deleted_at is null
    where e.order_id = ${orderId}::uuid and e.points > 0
    order by e.id`;
  const news = rewards.flatMap(({ userId, kind, points, earnedBefore }) => {
    const own = kind === "ORDER";
    const earned: News = { userId, kind: own ? "POINTS_EARNED" : "FRIEND_CAME", own, facts: { points } };
    const level = loyaltyLevel((earnedBefore ?? 0) + points);
    if (level === loyaltyLevel(earnedBefore ?? 0)) return [earned];
    return [earned, { userId, kind: "LEVEL_REACHED", own: false, facts: { level } } satisfies News];
  });
  return db<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id, partner_id, facts)
    select news."userId", news.kind, case when news.own then o.id end, case when news.own then o.partner_id end, news.facts
    from jsonb_to_recordset(${db.json(news)}) as news ("userId" uuid, kind text, own boolean, facts jsonb)
    join orders o on o.id = ${orderId}::uuid
    on conflict (order_id, user_id, kind) where order_id is not null do nothing
    returning id`;
}

/** Writes to a partner's people that they were reviewed. */
export const insertReviewReceivedNotifications = (db: Db, reviewId: string) =>
  db<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id, partner_id, facts)
    select person, 'REVIEW_RECEIVED', r.order_id, r.partner_id, jsonb_build_object('rating', r.rating)
    from reviews r
    cross join lateral people_of_partner(r.partner_id) as person
    where r.id = ${reviewId}::uuid
    on conflict (order_id, user_id, kind) where order_id is not null do nothing
    returning id`;

/** Writes to a review's author what was decided on it. */
export const insertReviewModeratedNotification = (
  db: Db,
  reviewId: string,
  kind: "REVIEW_APPROVED" | "REVIEW_REJECTED",
) =>
  db<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id, partner_id)
    select u.id, ${kind}, r.order_id, r.partner_id
    from reviews r
    join users u on u.id = r.user_id and u.deleted_at is null
    where r.id = ${reviewId}::uuid
    on conflict (order_id, user_id, kind) where order_id is not null do nothing
    returning id`;

/** Writes to a partner's people what was decided on it. */
export const insertPartnerNotifications = (db: Db, partnerId: string, kind: AnnouncementKind) =>
  db<{ id: string }[]>`
    insert into notifications (user_id, kind, partner_id)
    select person, ${kind}, ${partnerId}::uuid
    from people_of_partner(${partnerId}::uuid) as person
    returning id`;

/** Writes that a campaign is complete to the admins who had to do with it. */
export const insertCampaignCompletedNotifications = (db: Db, campaignId: string) =>
  db<{ id: string }[]>`
    insert into notifications (user_id, kind, facts)
    select u.id, 'CAMPAIGN_COMPLETED', jsonb_build_object('campaign', c.name)
    from ad_campaigns c
    join users u on u.id in (select e.actor_id from audit_events e where e.subject_id = c.id)
    where c.id = ${campaignId}::uuid and (u.is_admin or u.phone = any (${config.ADMIN_PHONES}::text[]))
      and u.deleted_at is null
    returning id`;

/** Some of those who like a box or its partner. */
export interface Batch {
  written: Written;
  /** The last favourite that was looked at; null when there are no more. */
  last: string | null;
}

/** What those are told who like a box or its partner. */
export type BoxNews = "FAVORITE_LISTED" | "BOX_BACK" | "BOX_CHEAPER";

/** How often somebody hears of such news: of one partner when it lists boxes, otherwise of one box. */
const mostHeard: Readonly<Record<BoxNews, { times: number; inHours: number }>> = {
  FAVORITE_LISTED: { times: 3, inHours: 24 },
  BOX_BACK: { times: 1, inHours: 6 },
  BOX_CHEAPER: { times: 1, inHours: 6 },
};

/**
 * Writes what to tell those who like a box, or for FAVORITE_LISTED its partner: of up to `limit` of them that come after the
 * favourite `after`, those who want to hear such things and have not heard enough of them. Nobody when the box is not on
 * offer (any more), or is no cheaper than when it was listed or than such news has said before: whatever it cost while nobody
 * was told does not count. `tx` is a transaction: until it ends it is the only one that tells of boxes
 * of this partner, since what another has written would not be seen.
 */
export async function insertFavoriteNotifications(
  tx: Db,
  boxId: string,
  kind: BoxNews,
  after: string | null,
  limit: number,
): Promise<Batch> {
  const { times, inHours } = mostHeard[kind];
  await tx`
    select
    from boxes b
    cross join lateral pg_advisory_xact_lock(hashtextextended('news of boxes ' || b.partner_id, 0))
    where b.id = ${boxId}::uuid`;
  const [batch] = await tx<{ ids: string[] | null; last: string | null; looked: number | null }[]>`
    with box as materialized (
      select b.id, b.partner_id, b.price_minor
      from boxes b
      join partners p on p.id = b.partner_id and p.status = 'ACTIVE'
      where b.id = ${boxId}::uuid and b.status = 'ACTIVE' and b.hidden_at is null and b.deleted_at is null
        and b.pickup_window_end > now()
        and (
          ${kind}::text <> 'BOX_CHEAPER'
          or b.price_minor < b.lowest_price_minor
          -- the first batch has said so
          or (b.price_minor = b.lowest_price_minor and ${after}::uuid is not null)
        )
    ), said as (
      update boxes b set lowest_price_minor = box.price_minor
      from box
      where b.id = box.id and ${kind}::text = 'BOX_CHEAPER' and ${after}::uuid is null
    ), batch as materialized (
      select favorite.id, favorite.user_id, favorite.willing
      from box
      cross join lateral next_favorites(
        case when ${kind}::text = 'FAVORITE_LISTED' then box.partner_id end, box.id, ${kind},
        interval '1 hour' * ${inHours}::integer, ${times}::integer, ${after}::uuid, ${limit}::integer
      ) as favorite
    ), written as (
      insert into notifications (user_id, kind, partner_id, box_id)
      select batch.user_id, ${kind}, box.partner_id, box.id
      from batch
      cross join box
      where batch.willing
      returning id
    )
    select
      (select array_agg(id::text) from written) as ids,
      (select id from batch order by id desc limit 1)::text as last,
      (select count(*) from batch)::integer as looked`;
  return {
    written: (batch?.ids ?? []).map((id) => ({ id })),
    last: batch?.looked === limit ? batch.last : null,
  };
}
