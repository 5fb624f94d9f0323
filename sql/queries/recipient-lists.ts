import { config } from "../../lib/process/config.js";
import { loyaltyLevel } from "../../lib/domain/loyalty-level.js";
import type { Db } from "../db.js";

// Who gets a notification of an event with few recipients: one statement for all events of a kind that are turned into
// notifications at the same time.

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

/** Lists the recipients of several events of a kind. */
export type ListRecipients = (db: Db, subjectIds: readonly string[]) => Promise<readonly OfSubject[]>;

interface OrderRecipient {
  userId: string;
  orderId: string;
  partnerId: string;
}

const ofOrder = (recipient: Recipient & OrderRecipient): OfSubject => ({ subjectId: recipient.orderId, recipient });

/** Lists the customers of orders. */
export const listCustomers: ListRecipients = async (db, orderIds) =>
  (
    await db<OrderRecipient[]>`
      select u.id as user_id, o.id as order_id, o.partner_id
      from orders o
      join users u on u.id = o.user_id and u.deleted_at is null
      where o.id = any (${[...orderIds]}::uuid[])`
  ).map(ofOrder);

/** Lists the members of the partners of orders, unless the order came from their POS. */
export const listMembersUnlessPosOrder: ListRecipients = async (db, orderIds) =>
  (
    await db<OrderRecipient[]>`
      select u.id as user_id, o.id as order_id, o.partner_id
      from orders o
      cross join lateral (select id from partner_members(o.partner_id) as id) as person
      join users u on u.id = person.id
      where o.id = any (${[...orderIds]}::uuid[]) and not exists (select from pos_orders p where p.order_id = o.id)`
  ).map(ofOrder);

/** Lists when the customers of orders are reminded: half an hour before the pickup window, unless that has passed. */
export const listReminderTimes = (db: Db, orderIds: readonly string[]) =>
  db<{ subjectId: string; runAt: Date }[]>`
    select id as subject_id, coalesce(pickup_window_start, created_at) - interval '30 minutes' as run_at
    from orders
    where id = any (${[...orderIds]}::uuid[])
      and coalesce(pickup_window_start, created_at) - interval '30 minutes' > now()`;

/** Lists the customers of cancelled orders, unless the customer cancelled it. */
export const listCustomersUnlessTheyCancelled: ListRecipients = async (db, orderIds) =>
  (
    await db<OrderRecipient[]>`
      select u.id as user_id, o.id as order_id, o.partner_id
      from orders o
      join order_events e on e.order_id = o.id and e.to_status = 'CANCELLED' and e.actor_role <> 'CUSTOMER'
      join users u on u.id = o.user_id and u.deleted_at is null
      where o.id = any (${[...orderIds]}::uuid[])`
  ).map(ofOrder);

/** Lists the members of the partners of cancelled orders, if the customer cancelled it. */
export const listMembersIfCustomerCancelled: ListRecipients = async (db, orderIds) =>
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
export const listCustomersWithPoints: ListRecipients = async (db, orderIds) =>
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
export const listReferrersWithPoints: ListRecipients = async (db, orderIds) =>
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
export const listUsersWithNewLevel: ListRecipients = async (db, orderIds) =>
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
export const listMembersWithRating: ListRecipients = async (db, reviewIds) =>
  (
    await db<(OrderRecipient & { subjectId: string; rating: number })[]>`
      select r.id as subject_id, u.id as user_id, r.order_id, r.partner_id, r.rating
      from reviews r
      cross join lateral (select id from partner_members(r.partner_id) as id) as person
      join users u on u.id = person.id
      where r.id = any (${[...reviewIds]}::uuid[])`
  ).map(({ subjectId, rating, ...recipient }) => ({ subjectId, recipient: { ...recipient, facts: { rating } } }));

/** Lists the authors of reviews. */
export const listAuthors: ListRecipients = async (db, reviewIds) =>
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
export const listMembers: ListRecipients = async (db, partnerIds) =>
  (
    await db<{ userId: string; partnerId: string }[]>`
      select u.id as user_id, p.id as partner_id
      from partners p
      cross join lateral (select id from partner_members(p.id) as id) as person
      join users u on u.id = person.id
      where p.id = any (${[...partnerIds]}::uuid[])`
  ).map(ofPartner);

/** Lists the owners of partners. */
export const listOwners: ListRecipients = async (db, partnerIds) =>
  (
    await db<{ userId: string; partnerId: string }[]>`
      select u.id as user_id, p.id as partner_id
      from partners p
      join users u on u.id = p.owner_id
      where p.id = any (${[...partnerIds]}::uuid[])`
  ).map(ofPartner);

/** Lists the owners of the partners of statements. */
export const listOwnersOfStatements: ListRecipients = async (db, statementIds) =>
  (
    await db<{ subjectId: string; userId: string; partnerId: string }[]>`
      select s.id as subject_id, u.id as user_id, s.partner_id
      from statements s
      join partners p on p.id = s.partner_id
      join users u on u.id = p.owner_id and u.deleted_at is null
      where s.id = any (${[...statementIds]}::uuid[])`
  ).map(({ subjectId, ...recipient }) => ({ subjectId, recipient }));

/** Lists the admins who have changed campaigns. */
export const listAdminsOfCampaigns: ListRecipients = async (db, campaignIds) =>
  (
    await db<{ subjectId: string; userId: string; campaign: string }[]>`
      select c.id as subject_id, u.id as user_id, c.name as campaign
      from ad_campaigns c
      join users u on u.id in (select e.actor_id from audit_events e where e.subject_id = c.id)
      where c.id = any (${[...campaignIds]}::uuid[]) and (u.is_admin or u.phone = any (${config.ADMIN_PHONES}::text[]))
        and u.deleted_at is null`
  ).map(({ subjectId, userId, campaign }) => ({ subjectId, recipient: { userId, facts: { campaign } } }));

/** Lists the users whose data exports have, unless they are deleted. */
export const listOwnersOfExports: ListRecipients = async (db, exportIds) =>
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
export const listMembersOfEndpoints: ListRecipients = async (db, endpointIds) =>
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
export const listAdminsOfEndpoints: ListRecipients = async (db, endpointIds) =>
  (
    await db<EndpointRecipient[]>`
      select w.id as subject_id, u.id as user_id, w.url
      from webhook_endpoints w
      cross join lateral (select id from webhook_editors(w.id) as id) as person
      join users u on u.id = person.id
      where w.id = any (${[...endpointIds]}::uuid[]) and (u.is_admin or u.phone = any (${config.ADMIN_PHONES}::text[]))
        and u.deleted_at is null`
  ).map((row) => ({ subjectId: row.subjectId, recipient: { userId: row.userId, facts: endpointFacts(row) } }));
