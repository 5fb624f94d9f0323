import type { Db } from "../db.js";
import { lockPosCredentials } from "./pos-syncs.js";

/** Finds the id of an order by its POS's number. */
export async function findPosOrder(
  db: Db,
  partnerId: string,
  provider: string,
  externalId: string,
): Promise<string | undefined> {
  const [row] = await db<{ orderId: string }[]>`
    select order_id as "orderId" from pos_orders
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
    update pos_events set status = 'QUEUED', settled_at = null, attempts = 0, next_try_at = now()
    where partner_id = ${partnerId}::uuid and provider = ${provider} and status = 'PARKED'
      and change ->> 'orderExternalId' = ${externalId}`;

/** Finds the account with this phone. */
export async function findCustomer(db: Db, phone: string): Promise<string | undefined> {
  const [user] = await db<{ id: string }[]>`select id from users where phone = ${phone} and deleted_at is null`;
  return user?.id;
}

/** Erases the addresses of up to `limit` POS orders without an account that are 30 days old; returns their number. */
export async function eraseCounterAddresses(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    update orders set address = null
    where id in (
      select id from orders
      where user_id is null and address is not null and created_at < now() - interval '30 days'
      order by created_at
      limit ${limit}
      for no key update skip locked
    )`;
  return count;
}

/** Lists the partner's items with these external ids, without archived ones. */
export const listItemsByExternalId = (db: Db, partnerId: string, externalIds: readonly string[]) =>
  db<{ id: string; externalId: string }[]>`
    select id, coalesce(external_id, '') as "externalId"
    from menu_items
    where partner_id = ${partnerId}::uuid and external_id = any (${[...externalIds]}::text[]) and archived_at is null`;

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
  const found = await tx<{ fromPos: boolean }[]>`
    select source = 'POS' and archived_at is null as "fromPos" from menu_items
    where partner_id = ${partnerId}::uuid and external_id = any (${externalIds}::text[])
    order by external_id
    for no key update`;
  await tx`
    update menu_items m set available = given.available, updated_at = now()
    from unnest(${externalIds}::text[], ${items.map(({ available }) => available)}::boolean[]) as given (external_id, available)
    where m.partner_id = ${partnerId}::uuid and m.external_id = given.external_id and m.source = 'POS'
      and m.available <> given.available`;
  return found.filter(({ fromPos }) => fromPos).length;
}
