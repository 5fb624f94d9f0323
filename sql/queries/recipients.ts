import { config } from "../../lib/process/config.js";
import { loyaltyLevel } from "../../lib/domain/loyalty-level.js";
import type { MarketingKind, NotificationKind } from "../../lib/domain/notification-kinds.js";
import type { EventKind } from "../../queues/fan-out.js";
import type { Db } from "../db.js";
import { hasRows } from "../rows.js";

/** A user who gets a notification of an event, and what it is about. */
export type Recipient = {
  readonly userId: string;
  readonly orderId?: string;
  readonly partnerId?: string;
  readonly boxId?: string;
  /** Values for the text that no other row has. */
  readonly facts?: Readonly<Record<string, string | number>>;
};

type ListRecipients = (db: Db, subjectId: string) => Promise<readonly Recipient[]>;

/** An event with few recipients. */
export interface SmallAudience {
  readonly notify: readonly { readonly kind: NotificationKind; readonly to: ListRecipients }[];
  /** A later event about the same subject; `at` returns its time, or undefined when it does not happen. */
  readonly followUp?: {
    readonly event: EventKind;
    readonly at: (db: Db, subjectId: string) => Promise<Date | undefined>;
  };
}

/** A batch of the recipients of an event. */
export interface Batch {
  readonly recipients: readonly Recipient[];
  /** The cursor for the next batch; null after the last one. */
  readonly last: string | null;
}

/**
 * An event about a box with up to very many recipients, who are notified in batches. It ends, with a line in the log, as soon as
 * the box does not meet `sentWhile` of its kind.
 */
export interface LargeAudience {
  readonly kind: MarketingKind;
  /** Runs before the first batch; false cancels the event. */
  readonly begin?: (tx: Db, boxId: string) => Promise<boolean>;
  /** Runs before each later batch; false ends the event. */
  readonly stillApplies?: (tx: Db, boxId: string) => Promise<boolean>;
  /** Lists only those who want such notifications and had few of them lately: nothing else bounds how many a user gets. */
  readonly list: (tx: Db, boxId: string, after: string | null, limit: number) => Promise<Batch>;
}

interface OrderRecipient {
  userId: string;
  orderId: string;
  partnerId: string;
}

/** Lists an order's customer. */
const listCustomer = (db: Db, orderId: string) =>
  db<OrderRecipient[]>`
    select u.id as user_id, o.id as order_id, o.partner_id
    from orders o
    join users u on u.id = o.user_id and u.deleted_at is null
    where o.id = ${orderId}::uuid`;

/** Lists the members of an order's partner, unless the order came from their POS. */
const listPartnerUnlessPosOrder = (db: Db, orderId: string) =>
  db<OrderRecipient[]>`
    select u.id as user_id, o.id as order_id, o.partner_id
    from orders o
    cross join lateral (select id from partner_members(o.partner_id) as id) as person
    join users u on u.id = person.id
    where o.id = ${orderId}::uuid and not exists (select from pos_orders p where p.order_id = o.id)`;

/** Finds when an order's customer is reminded: half an hour before the pickup window; undefined when that has passed. */
const findReminderTime = async (db: Db, orderId: string) =>
  (
    await db<{ remindAt: Date }[]>`
      with reminder as (
        select coalesce(pickup_window_start, created_at) - interval '30 minutes' as at from orders where id = ${orderId}::uuid
      )
      select coalesce(at, now()) as remind_at from reminder where at > now()`
  )[0]?.remindAt;

/** Lists the customer of a cancelled order, unless the customer cancelled it. */
const listCustomerUnlessActor = (db: Db, orderId: string) =>
  db<OrderRecipient[]>`
    select u.id as user_id, o.id as order_id, o.partner_id
    from orders o
    join order_events e on e.order_id = o.id and e.to_status = 'CANCELLED' and e.actor_role <> 'CUSTOMER'
    join users u on u.id = o.user_id and u.deleted_at is null
    where o.id = ${orderId}::uuid`;

/** Lists the members of a cancelled order's partner, if the customer cancelled it. */
const listPartnerUnlessActor = (db: Db, orderId: string) =>
  db<OrderRecipient[]>`
    select u.id as user_id, o.id as order_id, o.partner_id
    from orders o
    join order_events e on e.order_id = o.id and e.to_status = 'CANCELLED' and e.actor_role = 'CUSTOMER'
    cross join lateral (select id from partner_members(o.partner_id) as id) as person
    join users u on u.id = person.id
    where o.id = ${orderId}::uuid`;

/** Lists a completed order's customer, with the points earned. */
const listCustomerWithPoints = async (db: Db, orderId: string) =>
  (
    await db<{ userId: string; partnerId: string; points: number }[]>`
      select e.user_id, o.partner_id, e.points
      from loyalty_entries e
      join orders o on o.id = e.order_id
      join users u on u.id = e.user_id and u.deleted_at is null
      where e.order_id = ${orderId}::uuid and e.kind = 'ORDER' and e.points > 0
      order by e.id`
  ).map(({ userId, partnerId, points }) => ({ userId, orderId, partnerId, facts: { points } }));

/** Lists the referrers who earned points by a friend's order; they learn nothing else of that order. */
const listReferrersWithPoints = async (db: Db, orderId: string) =>
  (
    await db<{ userId: string; points: number }[]>`
      select e.user_id, e.points
      from loyalty_entries e
      join users u on u.id = e.user_id and u.deleted_at is null
      where e.order_id = ${orderId}::uuid and e.kind <> 'ORDER' and e.points > 0
      order by e.id`
  ).map(({ userId, points }) => ({ userId, facts: { points } }));

/** Lists the users whom the points of a completed order took to another level. */
const listUsersWithNewLevel = async (db: Db, orderId: string) =>
  (
    await db<{ userId: string; points: number; earnedBefore: number | null }[]>`
      select
        e.user_id, e.points,
        (select sum(b.points)::integer from loyalty_entries b where b.user_id = e.user_id and b.id < e.id) as earned_before
      from loyalty_entries e
      join users u on u.id = e.user_id and u.deleted_at is null
      where e.order_id = ${orderId}::uuid and e.points > 0
      order by e.id`
  ).flatMap(({ userId, points, earnedBefore }) => {
    const level = loyaltyLevel((earnedBefore ?? 0) + points);
    return level === loyaltyLevel(earnedBefore ?? 0) ? [] : [{ userId, facts: { level } }];
  });

/** Lists the members of the partner that a review is about, with the rating. */
const listPartnerWithRating = async (db: Db, reviewId: string) =>
  (
    await db<(OrderRecipient & { rating: number })[]>`
      select u.id as user_id, r.order_id, r.partner_id, r.rating
      from reviews r
      cross join lateral (select id from partner_members(r.partner_id) as id) as person
      join users u on u.id = person.id
      where r.id = ${reviewId}::uuid`
  ).map(({ rating, ...recipient }) => ({ ...recipient, facts: { rating } }));

/** Lists a review's author. */
const listAuthor = (db: Db, reviewId: string) =>
  db<OrderRecipient[]>`
    select u.id as user_id, r.order_id, r.partner_id
    from reviews r
    join users u on u.id = r.user_id and u.deleted_at is null
    where r.id = ${reviewId}::uuid`;

/** Lists a partner's owner and staff. */
const listPartner = (db: Db, partnerId: string) =>
  db<{ userId: string; partnerId: string }[]>`
    select u.id as user_id, p.id as partner_id
    from partners p
    cross join lateral (select id from partner_members(p.id) as id) as person
    join users u on u.id = person.id
    where p.id = ${partnerId}::uuid`;

/** Lists a partner's owner. */
const listOwner = (db: Db, partnerId: string) =>
  db<{ userId: string; partnerId: string }[]>`
    select u.id as user_id, p.id as partner_id
    from partners p
    join users u on u.id = p.owner_id
    where p.id = ${partnerId}::uuid`;

/** Lists the admins who have changed a campaign. */
const listAdminsOfCampaign = async (db: Db, campaignId: string) =>
  (
    await db<{ userId: string; campaign: string }[]>`
      select u.id as user_id, c.name as campaign
      from ad_campaigns c
      join users u on u.id in (select e.actor_id from audit_events e where e.subject_id = c.id)
      where c.id = ${campaignId}::uuid and (u.is_admin or u.phone = any (${config.ADMIN_PHONES}::text[]))
        and u.deleted_at is null`
  ).map(({ userId, campaign }) => ({ userId, facts: { campaign } }));

/** Lists the user whose data an export has, unless it is deleted. */
const listOwnerOfExport = (db: Db, exportId: string) =>
  db<{ userId: string }[]>`
    select u.id as user_id
    from data_exports e
    join users u on u.id = e.user_id and u.deleted_at is null
    where e.id = ${exportId}::uuid and e.expires_at > now()`;

/**
 * An event for the followers of a box, or of its partner. A batch has the followers who want such notifications and had fewer
 * than `max.times` of this kind within `max.inHours`.
 */
const followers = (
  of: "BOX" | "PARTNER",
  kind: MarketingKind,
  max: { times: number; inHours: number },
): LargeAudience => ({
  kind,
  list: async (tx, boxId, after, limit) => {
    const [batch] = await tx<
      { partnerId: string; willing: (string | null)[] | null; last: string | null; count: number }[]
    >`
      select b.partner_id, batch.willing, batch.last, batch.count
      from boxes b
      cross join lateral (
        select
          array_agg(f.user_id::text order by f.id) filter (where f.willing) as willing,
          (array_agg(f.id::text order by f.id desc))[1] as last, count(*) as count
        from next_favorites(
          case when ${of}::text = 'PARTNER' then b.partner_id end, b.id, ${kind}, interval '1 hour' * ${max.inHours}::integer,
          ${max.times}::integer, ${after}::uuid, ${limit}::integer
        ) as f
      ) as batch
      where b.id = ${boxId}::uuid`;
    if (!batch) return { recipients: [], last: null };
    const { partnerId, willing, last, count } = batch;
    return {
      recipients: (willing ?? []).flatMap((userId) => (userId === null ? [] : [{ userId, partnerId, boxId }])),
      last: count === limit ? last : null,
    };
  },
});

/** Lowers a box's lowest announced price to its present price; false when the box has been as cheap before. */
const updateLowestPrice = (tx: Db, boxId: string) =>
  hasRows(tx`
    update boxes set lowest_price_minor = price_minor where id = ${boxId}::uuid and price_minor < lowest_price_minor`);

/** Whether a box costs no more than its lowest announced price. */
const isAtLowestPrice = (db: Db, boxId: string) =>
  hasRows(db`select from boxes where id = ${boxId}::uuid and price_minor <= lowest_price_minor`);

/**
 * The recipients of each event, and the kind of notification they get. Texts and conditions of a kind are in
 * `notificationKinds`.
 */
export const recipientsOf: Readonly<Record<EventKind, SmallAudience | LargeAudience>> = {
  ORDER_PLACED: {
    notify: [
      { kind: "ORDER_ACCEPTED", to: listCustomer },
      { kind: "NEW_ORDER", to: listPartnerUnlessPosOrder },
    ],
    followUp: { event: "PICKUP_SOON", at: findReminderTime },
  },
  PICKUP_SOON: { notify: [{ kind: "PICKUP_SOON", to: listCustomer }] },
  ORDER_READY: { notify: [{ kind: "ORDER_READY", to: listCustomer }] },
  ORDER_COMPLETED: {
    notify: [
      { kind: "POINTS_EARNED", to: listCustomerWithPoints },
      { kind: "FRIEND_CAME", to: listReferrersWithPoints },
      { kind: "LEVEL_REACHED", to: listUsersWithNewLevel },
    ],
  },
  ORDER_CANCELLED: {
    notify: [
      { kind: "ORDER_CANCELLED", to: listCustomerUnlessActor },
      { kind: "ORDER_CANCELLED_BY_CUSTOMER", to: listPartnerUnlessActor },
    ],
  },
  ORDER_NO_SHOW: { notify: [{ kind: "ORDER_NO_SHOW", to: listCustomer }] },
  REVIEW_PUBLISHED: { notify: [{ kind: "REVIEW_RECEIVED", to: listPartnerWithRating }] },
  REVIEW_APPROVED: { notify: [{ kind: "REVIEW_APPROVED", to: listAuthor }] },
  REVIEW_REJECTED: { notify: [{ kind: "REVIEW_REJECTED", to: listAuthor }] },
  PARTNER_OWNED: { notify: [{ kind: "PARTNER_OWNED", to: listOwner }] },
  PARTNER_ACTIVE: { notify: [{ kind: "PARTNER_APPROVED", to: listPartner }] },
  PARTNER_REJECTED: { notify: [{ kind: "PARTNER_REJECTED", to: listPartner }] },
  PARTNER_SUSPENDED: { notify: [{ kind: "PARTNER_SUSPENDED", to: listPartner }] },
  CAMPAIGN_COMPLETED: { notify: [{ kind: "CAMPAIGN_COMPLETED", to: listAdminsOfCampaign }] },
  DATA_EXPORT_READY: { notify: [{ kind: "DATA_EXPORT_READY", to: listOwnerOfExport }] },
  BOX_LISTED: followers("PARTNER", "FAVORITE_LISTED", { times: 3, inHours: 24 }),
  BOX_BACK: followers("BOX", "BOX_BACK", { times: 1, inHours: 6 }),
  BOX_CHEAPER: {
    ...followers("BOX", "BOX_CHEAPER", { times: 1, inHours: 6 }),
    begin: updateLowestPrice,
    stillApplies: isAtLowestPrice,
  },
};

/** Locks notifications about a partner's boxes until `tx` ends: concurrent transactions would not count each other's. */
export const lockBoxNotifications = (tx: Db, boxId: string) =>
  tx`
    select
    from boxes b
    cross join lateral pg_advisory_xact_lock(hashtextextended('notifications about boxes of ' || b.partner_id, 0))
    where b.id = ${boxId}::uuid`;

/** Whether a box is on offer; false when there is no such box. */
export const isOnOffer = (db: Db, boxId: string) =>
  hasRows(db`
    select
    from boxes b
    join partners p on p.id = b.partner_id
    where b.id = ${boxId}::uuid and box_is_on_offer(b, p)`);
