import type { Platform } from "../../lib/messaging/push-token.js";
import type { Db } from "../db.js";
import { firstRow, hasRows } from "../rows.js";

export interface NewDevice {
  userId: string;
  platform: Platform;
  address: string;
  addressDigest: Uint8Array;
  p256dh: string | null;
  auth: string | null;
  /** Null: the user's locale. */
  locale: string | null;
}

export interface Device {
  id: string;
  platform: Platform;
  locale: string;
  createdAt: Date;
}

/**
 * Registers a device; one with this address moves to the user, and `added` is false. Of more than `max` devices of the user
 * the least recently registered are deleted. Undefined when the account does not exist.
 */
export function insertDevice(db: Db, device: NewDevice, max: number) {
  const { userId, platform, address, addressDigest, p256dh, auth, locale } = device;
  return firstRow(db<{ id: string; platform: Platform; locale: string; added: boolean }[]>`
    with registered as (
      insert into devices (user_id, platform, address, address_digest, p256dh, auth, locale)
      select u.id, ${platform}::device_platform, ${address}, ${addressDigest}::bytea, ${p256dh}, ${auth}, coalesce(${locale}, u.locale)
      from users u
      where u.id = ${userId}::uuid and u.deleted_at is null
      on conflict (address_digest) do update set
        user_id = excluded.user_id, platform = excluded.platform, p256dh = excluded.p256dh, auth = excluded.auth,
        locale = excluded.locale, unanswered = 0, updated_at = now()
      -- xmax is 0 for a new row; the conflict has locked an existing one
      returning id, platform, locale, xmax::text = '0' as added
    ), deleted as (
      delete from devices
      where id in (
        select id from devices
        where user_id = ${userId}::uuid and address_digest <> ${addressDigest}::bytea
        order by updated_at desc, id desc
        offset ${max - 1}
      )
    )
    select id, platform, locale, coalesce(added, false) as added from registered`);
}

/** A device is deleted when its push service left this many deliveries in a row unanswered. */
const MOST_UNANSWERED = 5;

/** Counts a delivery to each of these devices: one that its push service left unanswered, or one that ends a row of these. */
export const countUnanswered = (db: Db, deliveries: readonly { deviceId: string; unanswered: boolean }[]) =>
  db`
    with delivery as (
      select device_id, unanswered
      from unnest(
        ${deliveries.map(({ deviceId }) => deviceId)}::uuid[],
        ${deliveries.map(({ unanswered }) => unanswered)}::boolean[]
      ) as delivery (device_id, unanswered)
    ), counted as materialized (
      select d.id, case when delivery.unanswered then d.unanswered + 1 else 0 end as unanswered
      from devices d
      join delivery on delivery.device_id = d.id
      order by d.id
      for update of d
    ), deleted as (
      delete from devices where id in (select id from counted where unanswered >= ${MOST_UNANSWERED}::integer)
    )
    update devices d
    set unanswered = counted.unanswered
    from counted
    where d.id = counted.id and counted.unanswered < ${MOST_UNANSWERED}::integer`;

/** Lists a user's devices, newest first; `insertDevice` bounds their number. */
export const listDevices = (db: Db, userId: string) =>
  db<Device[]>`
    select id, platform, locale, created_at
    from devices
    where user_id = ${userId}::uuid
    order by id desc`;

/** Deletes a user's device; false when the user has no such device. */
export const deleteDevice = (db: Db, userId: string, id: string) =>
  hasRows(db`delete from devices where id = ${id}::uuid and user_id = ${userId}::uuid`);
