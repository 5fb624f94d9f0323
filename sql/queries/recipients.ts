import { config } from "../../lib/process/config.js";
import { loyaltyLevel } from "../../lib/domain/loyalty-level.js";
import type { MarketingKind, NotificationKind } from "../../lib/domain/notification-kinds.js";
import type { EventKind } from "../../queues/fan-out.js";
import type { Db } from "../db.js";
import { hasRows, onlyRow } from "../rows.js";

/** A user who gets a notification of an event, and what it is about. */
export type Recipient = {
  readonly userId: string;
  readonly orderId?: string;
  readonly partnerId?: string;
  /** Values for the text that no other row has. */
  readonly facts?: Readonly<Record<string, string | number>>;
};

/** A recipient of one of several events of a kind, and the subject of that event. */
export interface OfSubject {
  readonly subjectId: string;
  readonly recipient: Recipient;
}

type ListRecipients = (db: Db, subjectIds: readonly string[]) => Promise<readonly OfSubject[]>;

/** An event with few recipients. Those of many such events are listed in one statement. */
export interface SmallAudience {
  readonly notify: readonly { readonly kind: NotificationKind; readonly to: ListRecipients }[];
  /** A later event about the same subject; `at` returns the time of each that happens. */
  readonly followUp?: {
    readonly event: EventKind;
    readonly at: (db: Db, subjectIds: readonly string[]) => Promise<readonly { subjectId: string; runAt: Date }[]>;
  };
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
  /**
   * Inserts the notifications of up to `limit` recipients and stages their pushes, for only those who want such notifications and
   * had few of them lately: nothing else bounds how many a user gets. Returns the cursor for the next batch, null after the last one.
   */
  readonly notifyNext: (tx: Db, boxId: string, after: string | null, run: BatchOptions) => Promise<string | null>;
  /** Counts the followers up to the cursor `after`, and all of them, for an operator: it reads their rows. */
  readonly countTo: (db: Db, boxId: string, after: string) => Promise<{ done: number; total: number }>;
}

interface BatchOptions {
  readonly limit: number;
  /** The request that caused the event, if one did. */
  readonly requestId: string | null;
}

interface OrderRecipient {
  userId: string;
  orderId: string;
  partnerId: string;
}

const ofOrder = (recipient: Recipient & OrderRecipient): OfSubject => ({ subjectId: recipient.orderId, recipient });

/** Lists the customers of orders. */
const listCustomers: ListRecipients = async (db, orderIds) =>
  (
    await db<OrderRecipient[]>`
      select u.id as user_id, o.id as order_id, o.partner_id
      from orders o
      join users u on u.id = o.user_id and u.deleted_at is null
      where o.id = any (${[...orderIds]}::uuid[])`
  ).map(ofOrder);

/** Lists the members of the partners of orders, unless the order came from their POS. */
const listPartnersUnlessPosOrder: ListRecipients = async (db, orderIds) =>
  (
    await db<OrderRecipient[]>`
      select u.id as user_id, o.id as order_id, o.partner_id
      from orders o
      cross join lateral (select id from partner_members(o.partner_id) as id) as person
      join users u on u.id = person.id
      where o.id = any (${[...orderIds]}::uuid[]) and not exists (select from pos_orders p where p.order_id = o.id)`
  ).map(ofOrder);

/** Lists when the customers of orders are reminded: half an hour before the pickup window, unless that has passed. */
const listReminderTimes = (db: Db, orderIds: readonly string[]) =>
  db<{ subjectId: string; runAt: Date }[]>`
    select id as subject_id, coalesce(pickup_window_start, created_at) - interval '30 minutes' as run_at
    from orders
    where id = any (${[...orderIds]}::uuid[])
      and coalesce(pickup_window_start, created_at) - interval '30 minutes' > now()`;

/** Lists the customers of cancelled orders, unless the customer cancelled it. */
const listCustomersUnlessActor: ListRecipients = async (db, orderIds) =>
  (
    await db<OrderRecipient[]>`
      select u.id as user_id, o.id as order_id, o.partner_id
      from orders o
      join order_events e on e.order_id = o.id and e.to_status = 'CANCELLED' and e.actor_role <> 'CUSTOMER'
      join users u on u.id = o.user_id and u.deleted_at is null
      where o.id = any (${[...orderIds]}::uuid[])`
  ).map(ofOrder);

/** Lists the members of the partners of cancelled orders, if the customer cancelled it. */
const listPartnersUnlessActor: ListRecipients = async (db, orderIds) =>
  (
    await db<OrderRecipient[]>`
      select u.id as user_id, o.id as order_id, o.partner_id
      from orders o
      join order_events e on e.order_id = o.id and e.to_status = 'CANCELLED' and e.actor_role = 'CUSTOMER'
      cross join lateral (select id from partner_members(o.partner_id) as id) as person
      join users u on u.id = person.id
      where o.id = any (${[...orderIds]}::uuid[])`
  ).map(ofOrder);

/** Lists the customers of completed orders, with the points earned. */
const listCustomersWithPoints: ListRecipients = async (db, orderIds) =>
  (
    await db<(OrderRecipient & { points: number })[]>`
      select e.user_id, o.id as order_id, o.partner_id, e.points
      from loyalty_entries e
      join orders o on o.id = e.order_id
      join users u on u.id = e.user_id and u.deleted_at is null
      where e.order_id = any (${[...orderIds]}::uuid[]) and e.kind = 'ORDER' and e.points > 0
      order by e.id`
  ).map(({ points, ...recipient }) => ofOrder({ ...recipient, facts: { points } }));

/** Lists the referrers who earned points by a friend's order; they learn nothing else of that order. */
const listReferrersWithPoints: ListRecipients = async (db, orderIds) =>
  (
    await db<{ userId: string; orderId: string | null; points: number }[]>`
      select e.user_id, e.order_id, e.points
      from loyalty_entries e
      join users u on u.id = e.user_id and u.deleted_at is null
      where e.order_id = any (${[...orderIds]}::uuid[]) and e.kind <> 'ORDER' and e.points > 0
      order by e.id`
  ).flatMap(({ userId, orderId, points }) =>
    orderId === null ? [] : [{ subjectId: orderId, recipient: { userId, facts: { points } } }],
  );

/** Lists the users whom the points of completed orders took to another level. */
const listUsersWithNewLevel: ListRecipients = async (db, orderIds) =>
  (
    await db<{ userId: string; orderId: string | null; points: number; earnedBefore: number | null }[]>`
      select
        e.user_id, e.order_id, e.points,
        (select sum(b.points)::integer from loyalty_entries b where b.user_id = e.user_id and b.id < e.id) as earned_before
      from loyalty_entries e
      join users u on u.id = e.user_id and u.deleted_at is null
      where e.order_id = any (${[...orderIds]}::uuid[]) and e.points > 0
      order by e.id`
  ).flatMap(({ userId, orderId, points, earnedBefore }) => {
    const level = loyaltyLevel((earnedBefore ?? 0) + points);
    if (orderId === null || level === loyaltyLevel(earnedBefore ?? 0)) return [];
    return [{ subjectId: orderId, recipient: { userId, facts: { level } } }];
  });

/** Lists the members of the partners that reviews are about, with the rating. */
const listPartnersWithRating: ListRecipients = async (db, reviewIds) =>
  (
    await db<(OrderRecipient & { subjectId: string; rating: number })[]>`
      select r.id as subject_id, u.id as user_id, r.order_id, r.partner_id, r.rating
      from reviews r
      cross join lateral (select id from partner_members(r.partner_id) as id) as person
      join users u on u.id = person.id
      where r.id = any (${[...reviewIds]}::uuid[])`
  ).map(({ subjectId, rating, ...recipient }) => ({ subjectId, recipient: { ...recipient, facts: { rating } } }));

/** Lists the authors of reviews. */
const listAuthors: ListRecipients = async (db, reviewIds) =>
  (
    await db<(OrderRecipient & { subjectId: string })[]>`
      select r.id as subject_id, u.id as user_id, r.order_id, r.partner_id
      from reviews r
      join users u on u.id = r.user_id and u.deleted_at is null
      where r.id = any (${[...reviewIds]}::uuid[])`
  ).map(({ subjectId, ...recipient }) => ({ subjectId, recipient }));

const ofPartner = (recipient: { userId: string; partnerId: string }): OfSubject => ({
  subjectId: recipient.partnerId,
  recipient,
});

/** Lists the owners and staff of partners. */
const listPartners: ListRecipients = async (db, partnerIds) =>
  (
    await db<{ userId: string; partnerId: string }[]>`
      select u.id as user_id, p.id as partner_id
      from partners p
      cross join lateral (select id from partner_members(p.id) as id) as person
      join users u on u.id = person.id
      where p.id = any (${[...partnerIds]}::uuid[])`
  ).map(ofPartner);

/** Lists the owners of partners. */
const listOwners: ListRecipients = async (db, partnerIds) =>
  (
    await db<{ userId: string; partnerId: string }[]>`
      select u.id as user_id, p.id as partner_id
      from partners p
      join users u on u.id = p.owner_id
      where p.id = any (${[...partnerIds]}::uuid[])`
  ).map(ofPartner);

/** Lists the owners of the partners of statements. */
const listOwnersOfStatements: ListRecipients = async (db, statementIds) =>
  (
    await db<{ subjectId: string; userId: string; partnerId: string }[]>`
      select s.id as subject_id, u.id as user_id, s.partner_id
      from statements s
      join partners p on p.id = s.partner_id
      join users u on u.id = p.owner_id and u.deleted_at is null
      where s.id = any (${[...statementIds]}::uuid[])`
  ).map(({ subjectId, ...recipient }) => ({ subjectId, recipient }));

/** Lists the admins who have changed campaigns. */
const listAdminsOfCampaigns: ListRecipients = async (db, campaignIds) =>
  (
    await db<{ subjectId: string; userId: string; campaign: string }[]>`
      select c.id as subject_id, u.id as user_id, c.name as campaign
      from ad_campaigns c
      join users u on u.id in (select e.actor_id from audit_events e where e.subject_id = c.id)
      where c.id = any (${[...campaignIds]}::uuid[]) and (u.is_admin or u.phone = any (${config.ADMIN_PHONES}::text[]))
        and u.deleted_at is null`
  ).map(({ subjectId, userId, campaign }) => ({ subjectId, recipient: { userId, facts: { campaign } } }));

/** Lists the users whose data exports have, unless they are deleted. */
const listOwnersOfExports: ListRecipients = async (db, exportIds) =>
  (
    await db<{ subjectId: string; userId: string }[]>`
      select e.id as subject_id, u.id as user_id
      from data_exports e
      join users u on u.id = e.user_id and u.deleted_at is null
      where e.id = any (${[...exportIds]}::uuid[]) and e.expires_at > now()`
  ).map(({ subjectId, userId }) => ({ subjectId, recipient: { userId } }));

interface EndpointRecipient {
  subjectId: string;
  userId: string;
  url: string;
}

/** Without the path of the address, which may be secret. */
const endpointFacts = ({ url }: EndpointRecipient) => ({ endpoint: new URL(url).host });

/** Lists the owners and staff of the partners whose webhook endpoints these are. */
const listPartnersOfEndpoints: ListRecipients = async (db, endpointIds) =>
  (
    await db<(EndpointRecipient & { partnerId: string })[]>`
      select w.id as subject_id, u.id as user_id, w.url, p.id as partner_id
      from webhook_endpoints w
      join partners p on p.id = w.partner_id
      cross join lateral (select id from partner_members(p.id) as id) as person
      join users u on u.id = person.id
      where w.id = any (${[...endpointIds]}::uuid[])`
  ).map((row) => ({
    subjectId: row.subjectId,
    recipient: { userId: row.userId, partnerId: row.partnerId, facts: endpointFacts(row) },
  }));

/** Lists the admins who have changed webhook endpoints of the platform. */
const listAdminsOfEndpoints: ListRecipients = async (db, endpointIds) =>
  (
    await db<EndpointRecipient[]>`
      select w.id as subject_id, u.id as user_id, w.url
      from webhook_endpoints w
      cross join lateral (select id from webhook_editors(w.id) as id) as person
      join users u on u.id = person.id
      where w.id = any (${[...endpointIds]}::uuid[]) and (u.is_admin or u.phone = any (${config.ADMIN_PHONES}::text[]))
        and u.deleted_at is null`
  ).map((row) => ({ subjectId: row.subjectId, recipient: { userId: row.userId, facts: endpointFacts(row) } }));

/**
 * An event for the followers of a box, or of its partner. A batch has the followers who want such notifications and had fewer
 * than `max.times` of this kind within `max.inHours`. One statement, since their rows need not come here.
 */
const followers = (
  of: "BOX" | "PARTNER",
  kind: MarketingKind,
  max: { times: number; inHours: number },
): LargeAudience => ({
  kind,
  notifyNext: async (tx, boxId, after, { limit, requestId }) => {
    const [batch] = await tx<{ last: string | null; count: number; staged: string | null }[]>`
      with batch as materialized (
        select f.id, f.user_id, f.willing, b.partner_id
        from boxes b
        cross join lateral next_favorites(
          case when ${of}::text = 'PARTNER' then b.partner_id end, b.id, ${kind}, interval '1 hour' * ${max.inHours}::integer,
          ${max.times}::integer, ${after}::uuid, ${limit}::integer
        ) as f
        where b.id = ${boxId}::uuid
      ), inserted as (
        insert into notifications (user_id, kind, partner_id, box_id)
        select user_id, ${kind}, partner_id, ${boxId}::uuid from batch where willing
        returning id
      ), staged as (
        select stage_jobs('push', jsonb_agg(jsonb_build_object('notificationId', id)), array_agg(${requestId}::text))::text as staged
        from inserted
        having count(*) > 0
      )
      select (array_agg(id::text order by id desc))[1] as last, count(*) as count, (select staged from staged) as staged
      from batch`;
    return batch?.count === limit ? batch.last : null;
  },
  countTo: (db, boxId, after) =>
    onlyRow(
      of === "PARTNER"
        ? db<{ done: number; total: number }[]>`
            select count(*) filter (where f.id <= ${after}::uuid) as done, count(*) as total
            from favorites f
            where f.partner_id = (select b.partner_id from boxes b where b.id = ${boxId}::uuid)`
        : db<{ done: number; total: number }[]>`
            select count(*) filter (where f.id <= ${after}::uuid) as done, count(*) as total
            from favorites f
            where f.box_id = ${boxId}::uuid`,
    ),
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
      { kind: "ORDER_ACCEPTED", to: listCustomers },
      { kind: "NEW_ORDER", to: listPartnersUnlessPosOrder },
    ],
    followUp: { event: "PICKUP_SOON", at: listReminderTimes },
  },
  PICKUP_SOON: { notify: [{ kind: "PICKUP_SOON", to: listCustomers }] },
  ORDER_READY: { notify: [{ kind: "ORDER_READY", to: listCustomers }] },
  ORDER_COMPLETED: {
    notify: [
      { kind: "POINTS_EARNED", to: listCustomersWithPoints },
      { kind: "FRIEND_CAME", to: listReferrersWithPoints },
      { kind: "LEVEL_REACHED", to: listUsersWithNewLevel },
    ],
  },
  ORDER_CANCELLED: {
    notify: [
      { kind: "ORDER_CANCELLED", to: listCustomersUnlessActor },
      { kind: "ORDER_CANCELLED_BY_CUSTOMER", to: listPartnersUnlessActor },
    ],
  },
  ORDER_NO_SHOW: { notify: [{ kind: "ORDER_NO_SHOW", to: listCustomers }] },
  REVIEW_PUBLISHED: { notify: [{ kind: "REVIEW_RECEIVED", to: listPartnersWithRating }] },
  REVIEW_APPROVED: { notify: [{ kind: "REVIEW_APPROVED", to: listAuthors }] },
  REVIEW_REJECTED: { notify: [{ kind: "REVIEW_REJECTED", to: listAuthors }] },
  PARTNER_OWNED: { notify: [{ kind: "PARTNER_OWNED", to: listOwners }] },
  PARTNER_ACTIVE: { notify: [{ kind: "PARTNER_APPROVED", to: listPartners }] },
  PARTNER_REJECTED: { notify: [{ kind: "PARTNER_REJECTED", to: listPartners }] },
  PARTNER_SUSPENDED: { notify: [{ kind: "PARTNER_SUSPENDED", to: listPartners }] },
  CAMPAIGN_COMPLETED: { notify: [{ kind: "CAMPAIGN_COMPLETED", to: listAdminsOfCampaigns }] },
  DATA_EXPORT_READY: { notify: [{ kind: "DATA_EXPORT_READY", to: listOwnersOfExports }] },
  WEBHOOK_STOPPED: {
    notify: [
      { kind: "WEBHOOK_STOPPED", to: listPartnersOfEndpoints },
      { kind: "PLATFORM_WEBHOOK_STOPPED", to: listAdminsOfEndpoints },
    ],
  },
  WEBHOOK_BACK: {
    notify: [
      { kind: "WEBHOOK_BACK", to: listPartnersOfEndpoints },
      { kind: "PLATFORM_WEBHOOK_BACK", to: listAdminsOfEndpoints },
    ],
  },
  STATEMENT_READY: { notify: [{ kind: "STATEMENT_READY", to: listOwnersOfStatements }] },
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
