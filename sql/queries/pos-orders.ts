import type { Db } from "../db.js";
import { countRows, hasRows } from "../rows.js";
import { forLargeMenus } from "./menu.js";
import { lockPosCredentials } from "./pos-syncs.js";

/** Finds the id of an order by its POS's number. */
export async function findPosOrder(
  db: Db,
  partnerId: string,
  provider: string,
  externalId: string,
): Promise<string | undefined> {
  const [row] = await db<{ orderId: string }[]>`
    select order_id from pos_orders
    where partner_id = ${partnerId}::uuid and provider = ${provider} and external_id = ${externalId}`;
  return row?.orderId;
}

/** Records the POS's number of an order, and queues the parked events about that number again. */
export const insertPosOrder = (tx: Db, partnerId: string, provider: string, externalId: string, orderId: string) =>
  tx`
    with known as (
      insert into pos_orders (partner_id, provider, external_id, order_id)
      values (${partnerId}::uuid, ${provider}, ${externalId}, ${orderId}::uuid)
    )
    update pos_events set status = 'QUEUED', settled_at = null, attempts = 0, next_attempt_at = now()
    where partner_id = ${partnerId}::uuid and provider = ${provider} and status = 'PARKED'
      and change ->> 'orderExternalId' = ${externalId}`;

/**
 * Finds the account with this phone that may get an order from a partner's POS: the user has declined none of them, and got
 * fewer than `most` in the last day. The caller applies the partner's events one at a time.
 */
export async function findCustomer(
  db: Db,
  phone: string,
  partnerId: string,
  most: number,
): Promise<string | undefined> {
  const [user] = await db<{ id: string }[]>`
    select u.id
    from users u
    where u.phone = ${phone} and u.deleted_at is null
      and not exists (
        select from pos_orders refused where refused.refused_by = u.id and refused.partner_id = ${partnerId}::uuid
      )
      and (
        select count(*)
        from orders o
        join pos_orders p on p.order_id = o.id
        where o.user_id = u.id and o.partner_id = ${partnerId}::uuid and o.created_at > now() - interval '1 day'
          -- not the whole history: ids begin with the time, of a clock that may have been set back by less than a day
          and (o.user_id, o.id) > (u.id, first_id_at(now() - interval '2 days'))
      ) < ${most}::integer`;
  return user?.id;
}

/** Takes an order of a POS from the user it was given to, as `decline_pos_order` describes; false when they have no such order. */
export const declinePosOrder = (db: Db, orderId: string, userId: string) =>
  hasRows(db`
    select from decline_pos_order(${orderId}::uuid, ${userId}::uuid) as declined where declined`);

/** Erases the addresses of up to `limit` POS orders without an account that are 30 days old; returns their number. */
export const eraseCounterAddresses = (db: Db, limit: number) =>
  countRows(db`
    update orders set address = null
    where id in (
      select id from orders
      where user_id is null and address is not null and created_at < now() - interval '30 days'
      order by created_at
      limit ${limit}
      for no key update skip locked
    )`);

/** Lists the partner's items with these external ids, without archived ones. */
export const listItemsByExternalId = (db: Db, partnerId: string, externalIds: readonly string[]) =>
  db<{ id: string; externalId: string }[]>`
    select m.id, coalesce(m.external_id, '') as external_id
    from unnest(${[...externalIds]}::text[]) as wanted (external_id)
    join menu_items m on menu_item_key(m.partner_id, m.external_id) = menu_item_key(${partnerId}::uuid, wanted.external_id)
    where m.archived_at is null`;

/**
 * Sets the availability of items from the POS, each at most once; items of another source stay as they are. Returns how many
 * of them the menu has. `tx` is a transaction.
 */
export async function updateAvailability(
  tx: Db,
  partnerId: string,
  items: readonly { externalId: string; available: boolean }[],
): Promise<number> {
  const externalIds = items.map(({ externalId }) => externalId);
  // the same lock order as in settling and requesting syncs: credentials, then items by external id
  await lockPosCredentials(tx, partnerId);
  await forLargeMenus(tx);
  return countRows(tx`
    with found as (
      select m.id, m.source = 'POS' as from_pos, m.archived_at is not null as archived, given.available
      from unnest(${externalIds}::text[], ${items.map(({ available }) => available)}::boolean[]) as given (external_id, available)
      join menu_items m on menu_item_key(m.partner_id, m.external_id) = menu_item_key(${partnerId}::uuid, given.external_id)
      order by m.external_id
      for no key update of m
    ), changed as (
      update menu_items m set available = found.available, updated_at = now()
      from found
      where m.id = found.id and found.from_pos and m.available <> found.available
    )
    select from found where from_pos and not archived`);
}
