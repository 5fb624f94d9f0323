import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";
import { firstRow } from "../rows.js";

// What the service stores about a user, for the user: nothing about other people, and no secrets, such as digests and push
// addresses. Lists are read in pages, by id.

/** Finds what the row of an account says about its user; undefined when it is deleted. */
export const findOwnAccount = (db: Db, userId: string) =>
  firstRow(db<
    {
      id: string;
      serviceId: string;
      phone: string | null;
      firstName: string | null;
      lastName: string | null;
      email: string | null;
      avatarUrl: string | null;
      avatar: string | null;
      locale: string;
      timezone: string | null;
      isAdmin: boolean;
      isObserver: boolean;
      createdAt: Date;
      updatedAt: Date;
    }[]
  >`
    select id, service_id, phone, first_name, last_name, email, avatar_url, avatar, locale, timezone, is_admin, is_observer,
           created_at, updated_at
    from users
    where id = ${userId}::uuid and deleted_at is null`);

/** Finds a user's points; who referred the user is another person. */
export const findOwnLoyalty = (db: Db, userId: string) =>
  firstRow(db<
    {
      points: number;
      foodSavedGrams: number;
      ordersCompleted: number;
      referralCode: string;
      wasReferred: boolean;
      createdAt: Date;
    }[]
  >`
    select points, food_saved_grams, orders_completed, referral_code,
           coalesce(referrer_id is not null, false) as was_referred, created_at
    from loyalty_accounts
    where user_id = ${userId}::uuid`);

/** Finds the promo code that a user applied last. */
export const findOwnPromoCode = (db: Db, userId: string) =>
  firstRow(db<{ code: string; attachedAt: Date }[]>`
    select c.code, a.attached_at
    from promo_attachments a
    join promo_codes c on c.id = a.promo_id
    where a.user_id = ${userId}::uuid`);

/** Lists a user's orders, with their items, changes of status, and promo code. */
export const listOwnOrders = (db: Db, userId: string, after: string | null, limit: number) =>
  db<
    {
      id: string;
      partnerId: string;
      partner: string;
      status: Enum<"orderStatus">;
      address: string | null;
      totalMinor: number;
      discountMinor: number;
      amountDueMinor: number;
      promoCode: string | null;
      pickupCode: string;
      pickupWindowStart: Date | null;
      pickupWindowEnd: Date | null;
      takenElsewhere: boolean;
      createdAt: Date;
      items: { name: string; priceMinor: number; qty: number }[] | null;
      events: { to: Enum<"orderStatus">; by: Enum<"orderActor">; at: string | null }[] | null;
    }[]
  >`
    select o.id, o.partner_id, p.name as partner, o.status, o.address, o.total_minor, o.discount_minor, o.amount_due_minor,
           (
             select c.code from promo_redemptions r join promo_codes c on c.id = r.promo_id
             where r.order_id = o.id and r.user_id = o.user_id
           ) as promo_code,
           o.pickup_code, o.pickup_window_start, o.pickup_window_end, o.taken_elsewhere, o.created_at,
           (
             select jsonb_agg(
               jsonb_build_object('name', i.name, 'priceMinor', i.price_minor, 'qty', i.qty) order by i.position
             )
             from order_items i
             where i.order_id = o.id
           ) as items,
           (
             select jsonb_agg(
               jsonb_build_object(
                 'to', e.to_status, 'by', e.actor_role,
                 'at', to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')::text
               )
               order by e.position
             )
             from order_events e
             where e.order_id = o.id
           ) as events
    from orders o
    join partners p on p.id = o.partner_id
    where o.user_id = ${userId}::uuid and (${after}::uuid is null or o.id > ${after}::uuid)
    order by o.id
    limit ${limit}`;

/** Lists the orders of a till that a user declined. */
export const listDeclinedOrders = (db: Db, userId: string, after: string | null, limit: number) =>
  db<{ id: string; partnerId: string; provider: string; externalId: string }[]>`
    select order_id as id, partner_id, provider, external_id
    from pos_orders
    where refused_by = ${userId}::uuid and (${after}::uuid is null or order_id > ${after}::uuid)
    order by order_id
    limit ${limit}`;

/** Lists what tills reported about a user's phone, without what they wrote about other people. */
export const listOwnPosEvents = (db: Db, userId: string, after: string | null, limit: number) =>
  db<{ id: string; partnerId: string; provider: string; kind: string | null; receivedAt: Date }[]>`
    select e.id::text, e.partner_id, e.provider, e.change ->> 'kind' as kind, e.received_at
    from users u
    join pos_events e on e.change ->> 'customerPhone' = u.phone
    where u.id = ${userId}::uuid and (${after}::bigint is null or e.id > ${after}::bigint)
    order by e.id
    limit ${limit}`;

/** Lists a user's reviews, whatever their status. */
export const listOwnReviews = (db: Db, userId: string, after: string | null, limit: number) =>
  db<
    {
      id: string;
      orderId: string;
      partnerId: string;
      rating: number;
      text: string | null;
      status: Enum<"reviewStatus">;
      createdAt: Date;
      updatedAt: Date;
    }[]
  >`
    select id, order_id, partner_id, rating, text, status, created_at, updated_at
    from reviews
    where user_id = ${userId}::uuid and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;

/** Lists how a user's points came about. The order behind points for a referral is another person's. */
export const listOwnLoyaltyEntries = (db: Db, userId: string, after: string | null, limit: number) =>
  db<
    {
      id: string;
      kind: Enum<"loyaltyKind">;
      points: number;
      grams: number;
      orderId: string | null;
      createdAt: Date;
    }[]
  >`
    select id, kind, points, grams, case when kind <> 'REFERRER' then order_id end as order_id, created_at
    from loyalty_entries
    where user_id = ${userId}::uuid and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;

/** Lists a user's favourites. */
export const listOwnFavorites = (db: Db, userId: string, after: string | null, limit: number) =>
  db<{ id: string; boxId: string | null; partnerId: string | null; createdAt: Date }[]>`
    select id, box_id, partner_id, created_at
    from favorites
    where user_id = ${userId}::uuid and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;

/** Lists a user's devices. */
export const listOwnDevices = (db: Db, userId: string, after: string | null, limit: number) =>
  db<{ id: string; platform: Enum<"devicePlatform">; locale: string; createdAt: Date; updatedAt: Date }[]>`
    select id, platform, locale, created_at, updated_at
    from devices
    where user_id = ${userId}::uuid and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;

/** Lists a user's notifications, with what became of their pushes. */
export const listOwnNotifications = (db: Db, userId: string, after: string | null, limit: number) =>
  db<
    {
      id: string;
      kind: string;
      orderId: string | null;
      partnerId: string | null;
      boxId: string | null;
      facts: unknown;
      status: Enum<"notificationStatus">;
      readAt: Date | null;
      createdAt: Date;
      deliveries: { platform: Enum<"devicePlatform">; status: Enum<"deliveryStatus">; at: string | null }[] | null;
    }[]
  >`
    select n.id, n.kind, n.order_id, n.partner_id, n.box_id, n.facts, n.status, n.read_at, n.created_at,
           (
             select jsonb_agg(
               jsonb_build_object(
                 'platform', d.platform, 'status', d.status,
                 'at', to_char(d.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')::text
               )
             )
             from notification_deliveries d
             where d.notification_id = n.id
           ) as deliveries
    from notifications n
    where n.user_id = ${userId}::uuid and (${after}::uuid is null or n.id > ${after}::uuid)
    order by n.id
    limit ${limit}`;

/** Lists a user's logins. */
export const listOwnSessions = (db: Db, userId: string, after: string | null, limit: number) =>
  db<{ id: string; forDashboard: boolean; createdAt: Date; revokedAt: Date | null }[]>`
    select id, for_dashboard, created_at, revoked_at
    from sessions
    where user_id = ${userId}::uuid and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;

/** Lists the uploads of a user. */
export const listUploads = (db: Db, userId: string, after: string | null, limit: number) =>
  db<
    {
      id: string;
      name: string;
      contentType: string;
      status: Enum<"fileStatus">;
      size: number | null;
      createdAt: Date;
    }[]
  >`
    select id, name, content_type, status, size, created_at
    from files
    where user_id = ${userId}::uuid and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;

/**
 * Lists the partners that a user owns or works for, or that somebody registered with the user's phone. What else their contacts
 * say is of other people, unless the user owns them.
 */
export const listOwnPartners = (db: Db, userId: string, after: string | null, limit: number) =>
  db<
    {
      id: string;
      role: "OWNER" | "STAFF" | "NAMED";
      name: string;
      address: string;
      phone: string | null;
      email: string | null;
      status: Enum<"partnerStatus">;
      statusReason: string | null;
      since: Date;
    }[]
  >`
    with me as (
      select id, phone from users where id = ${userId}::uuid
    ), mine as (
      select p.id from partners p join me on p.owner_id = me.id
      union
      select s.partner_id from partner_staff s join me on s.user_id = me.id
      union
      select p.id from partners p join me on p.owner_phone = me.phone
      union
      select p.id from partners p join me on p.phone = me.phone
    )
    select p.id,
           case when p.owner_id = me.id then 'OWNER' when s.user_id is not null then 'STAFF' else 'NAMED' end as role,
           p.name, p.address, case when p.owner_id = me.id or p.phone = me.phone then p.phone end as phone,
           case when p.owner_id = me.id then p.email end as email, p.status,
           case when p.owner_id = me.id then p.status_reason end as status_reason,
           coalesce(s.created_at, p.created_at) as since
    from partners p
    cross join me
    left join partner_staff s on s.user_id = me.id and s.partner_id = p.id
    where p.id in (select id from mine) and (${after}::uuid is null or p.id > ${after}::uuid)
    order by p.id
    limit ${limit}`;

/** Lists the open invitations to a user's phone. */
export const listInvitationsOfPhone = (db: Db, userId: string, after: string | null, limit: number) =>
  db<{ id: string; partnerId: string; createdAt: Date }[]>`
    select i.id, i.partner_id, i.created_at
    from users u
    join staff_invitations i on i.phone = u.phone
    where u.id = ${userId}::uuid and (${after}::uuid is null or i.id > ${after}::uuid)
    order by i.id
    limit ${limit}`;

/** Lists what a user did as an admin or with a partner's account; the details may be about other people. */
export const listOwnActions = (db: Db, userId: string, after: string | null, limit: number) =>
  db<{ id: string; action: string; subjectId: string | null; createdAt: Date }[]>`
    select id, action, subject_id, created_at
    from audit_events
    where actor_id = ${userId}::uuid and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;
