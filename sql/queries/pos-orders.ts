import type { Db } from "../db.js";
import { lockPosCredentials } from "./pos-syncs.js";

/** Finds which of our orders a POS means by its own number for it. */
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

/** Notes which order a POS means by its number, and puts what came in about it before it did back into the mailbox. */
export const insertPosOrder = (tx: Db, partnerId: string, provider: string, externalId: string, orderId: string) =>
  tx`
    with known as (
      insert into pos_orders (partner_id, provider, external_id, order_id)
      values (${partnerId}::uuid, ${provider}, ${externalId}, ${orderId}::uuid)
    )
    update pos_events set status = 'QUEUED', settled_at = null, attempts = 0, next_try_at = now()
    where partner_id = ${partnerId}::uuid and provider = ${provider} and status = 'PARKED'
      and change ->> 'orderExternalId' = ${externalId}`;

/** Finds the account of whoever has this phone. */
export async function findCustomer(db: Db, phone: string): Promise<string | undefined> {
  const [user] = await db<{ id: string }[]>`select id from users where phone = ${phone} and deleted_at is null`;
  return user?.id;
}

/** Forgets the addresses of up to `limit` orders from counters that are 30 days old, of customers whom nobody knows; answers how many. */
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

/** Finds the partner's items with these numbers of their POS; those that it does not have, or no more, are left out. */
export const listItemsByExternalId = (db: Db, partnerId: string, externalIds: readonly string[]) =>
  db<{ id: string; externalId: string }[]>`
    select id, coalesce(external_id, '') as "externalId"
    from menu_items
    where partner_id = ${partnerId}::uuid and external_id = any (${[...externalIds]}::text[]) and archived_at is null`;

/**
 * Says of items that came from the POS, each once, whether they can be had; others are left as they are. Answers how many of
 * them the menu has. `tx` is a transaction.
 */
export async function updateAvailability(
  tx: Db,
  partnerId: string,
  items: readonly { externalId: string; available: boolean }[],
): Promise<number> {
  const externalIds = items.map(({ externalId }) => externalId);
  // whoever ends or asks for a sync locks the credentials first, and in one order goes who changes many items of a menu
  await lockPosCredentials(tx, partnerId);
  const found = await tx<{ here: boolean }[]>`
    select source = 'POS' and archived_at is null as here from menu_items
    where partner_id = ${partnerId}::uuid and external_id = any (${externalIds}::text[])
    order by external_id
    for no key update`;
  await tx`
    update menu_items m set available = told.available, updated_at = now()
    from unnest(${externalIds}::text[], ${items.map(({ available }) => available)}::boolean[]) as told (external_id, available)
    where m.partner_id = ${partnerId}::uuid and m.external_id = told.external_id and m.source = 'POS'
      and m.available <> told.available`;
  return found.filter(({ here }) => here).length;
}
