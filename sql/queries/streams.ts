import type { Db } from "../db.js";

/** A user's permission to follow a partner, as its owner or staff, or an order; with the token's session if it has one. */
export interface StreamGrant {
  userId: string;
  sessionId: string | null;
  partnerId: string | null;
  orderId: string | null;
}

/** Lists the places, from 1 on, of the grants that are still valid. */
export const listHeldGrants = (db: Db, grants: readonly StreamGrant[]) =>
  db<{ place: number | null }[]>`
    select g.place::integer as place
    from unnest(
      ${grants.map(({ userId }) => userId)}::uuid[], ${grants.map(({ sessionId }) => sessionId)}::uuid[],
      ${grants.map(({ partnerId }) => partnerId)}::uuid[], ${grants.map(({ orderId }) => orderId)}::uuid[]
    ) with ordinality as g (user_id, session_id, partner_id, order_id, place)
    join users u on u.id = g.user_id and u.deleted_at is null
    left join sessions s on s.id = g.session_id and s.revoked_at is null
    left join orders o on o.id = g.order_id
    left join partners p on p.id = coalesce(g.partner_id, o.partner_id) and p.owner_id = g.user_id
    left join partner_staff m on m.user_id = g.user_id and m.partner_id = coalesce(g.partner_id, o.partner_id)
    where (g.session_id is null or s.id is not null)
      and (o.user_id = g.user_id or p.id is not null or m.user_id is not null)`;

/**
 * The quantity of a box that customers can order now: 0 when it is hidden, deleted or expired, or its partner is not
 * active.
 */
export interface AvailabilityRow {
  boxId: string;
  partnerId: string;
  cityId: string;
  quantityAvailable: number;
}

/** Lists the availability of these boxes in these cities. */
export const listAvailability = (db: Db, boxIds: readonly string[], cityIds: readonly string[]) =>
  db<AvailabilityRow[]>`
    select b.id as box_id, b.partner_id, b.city_id,
           case when box_is_on_offer(b, p) then b.quantity_available else 0 end as quantity_available
    from boxes b
    join partners p on p.id = b.partner_id
    where b.id = any (${[...boxIds]}::uuid[]) and b.city_id = any (${[...cityIds]}::text[])`;

/** As `listAvailability`, for the boxes of these partners that upkeep has not marked as expired. */
export const listAvailabilityOfPartners = (db: Db, partnerIds: readonly string[], cityIds: readonly string[]) =>
  db<AvailabilityRow[]>`
    select b.id as box_id, b.partner_id, b.city_id,
           case when box_is_on_offer(b, p) then b.quantity_available else 0 end as quantity_available
    from boxes b
    join partners p on p.id = b.partner_id
    where b.partner_id = any (${[...partnerIds]}::uuid[]) and b.status <> 'EXPIRED' and b.hidden_at is null
      and b.city_id = any (${[...cityIds]}::text[])`;
