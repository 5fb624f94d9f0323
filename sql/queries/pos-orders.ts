import type { Db } from "../db.js";
import { countRows, hasRows } from "../rows.js";

/** An account of a POS, which numbers its orders, and the partner it is connected to. */
export interface PosAccount {
  partnerId: string;
  provider: string;
  account: string;
}

/** Finds the id of an order by its POS's number. */
export async function findPosOrder(
  db: Db,
  { partnerId, provider, account }: PosAccount,
  externalId: string,
): Promise<string | undefined> {
  const [row] = await db<{ orderId: string }[]>`
    select order_id from pos_orders
    where partner_id = ${partnerId}::uuid and provider = ${provider} and account = ${account}
      and external_id = ${externalId}`;
  return row?.orderId;
}

/** Records the POS's number of an order, and queues the parked events about that number again. */
export const insertPosOrder = (
  tx: Db,
  { partnerId, provider, account }: PosAccount,
  externalId: string,
  orderId: string,
) =>
  tx`
    with known as (
      insert into pos_orders (partner_id, provider, account, external_id, order_id)
      values (${partnerId}::uuid, ${provider}, ${account}, ${externalId}, ${orderId}::uuid)
    )
    update pos_events set status = 'QUEUED', settled_at = null, attempts = 0, next_attempt_at = now()
    where partner_id = ${partnerId}::uuid and provider = ${provider} and account = ${account} and status = 'PARKED'
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
