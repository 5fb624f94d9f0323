import { newServiceId } from "../../lib/service-id.js";
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

/** Among so many fresh ids one is free. */
const serviceIdCandidates = 5;

/** Finds the account of whoever has this phone, or makes it. */
export async function takeCustomer(tx: Db, phone: string): Promise<string | undefined> {
  const serviceIds = Array.from({ length: serviceIdCandidates }, newServiceId);
  await tx`
    insert into users (service_id, phone)
    select candidate, ${phone}::text
    from unnest(${serviceIds}::text[]) as candidate
    where not exists (select from users where phone = ${phone} and deleted_at is null)
      and not exists (select from users where service_id = candidate)
    limit 1
    on conflict (phone) where deleted_at is null do nothing`;
  const [user] = await tx<{ id: string }[]>`select id from users where phone = ${phone} and deleted_at is null`;
  return user?.id;
}

/** Finds the partner's items with these numbers of their POS; those that it does not have, or no more, are left out. */
export const listItemsByExternalId = (db: Db, partnerId: string, externalIds: readonly string[]) =>
  db<{ id: string; externalId: string }[]>`
    select id, coalesce(external_id, '') as "externalId"
    from menu_items
    where partner_id = ${partnerId}::uuid and external_id = any (${[...externalIds]}::text[]) and archived_at is null`;

/**
 * Says of items that came from the POS, each once, whether they can be had; others are left as they are. `tx` is a
 * transaction.
 */
export async function updateAvailability(
  tx: Db,
  partnerId: string,
  items: readonly { externalId: string; available: boolean }[],
): Promise<void> {
  const externalIds = items.map(({ externalId }) => externalId);
  // whoever ends or asks for a sync locks the credentials first, and in one order goes who changes many items of a menu
  await lockPosCredentials(tx, partnerId);
  await tx`
    select from menu_items
    where partner_id = ${partnerId}::uuid and external_id = any (${externalIds}::text[])
    order by external_id
    for no key update`;
  await tx`
    update menu_items m set available = told.available, updated_at = now()
    from unnest(${externalIds}::text[], ${items.map(({ available }) => available)}::boolean[]) as told (external_id, available)
    where m.partner_id = ${partnerId}::uuid and m.external_id = told.external_id and m.source = 'POS'
      and m.available <> told.available`;
}
