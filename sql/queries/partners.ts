import { partnerMoves, type PartnerMove, type PartnerStatus } from "../../lib/domain/partner-moves.js";
import type { OpeningHours } from "../../lib/domain/opening-hours.js";
import type { EventKind } from "../../queues/fan-out.js";
import type { Db } from "../db.js";

export interface NewPartner {
  /** The slug, to which a number is added when it is in use. */
  slug: string;
  name: string;
  cityId: string;
  cityTimezone: string;
  address: string;
  latitude: number;
  longitude: number;
  phone: string | null;
  email: string | null;
  description: string | null;
  timezone: string | null;
  /** The user who registered, if they were signed in. */
  ownerId: string | null;
  /** Otherwise the phone whose user becomes the owner at the next login. */
  ownerPhone: string | null;
}

export interface RegisteredPartner {
  id: string;
  status: PartnerStatus;
  slug: string;
}

/** Inserts a partner for review, and its city if it is new; undefined when the owner's account does not exist. */
export const insertPartner = async (db: Db, partner: NewPartner) =>
  (
    await db<RegisteredPartner[]>`
      with new_city as (
        insert into cities (id, name, timezone)
        values (${partner.cityId}, ${partner.cityId}, ${partner.cityTimezone})
        on conflict (id) do nothing
      )
      insert into partners (
        slug, name, city_id, address, latitude, longitude, phone, email, description, timezone, owner_id, owner_phone
      )
      select claim_slug(${partner.slug}), ${partner.name}, ${partner.cityId}, ${partner.address},
             ${partner.latitude}::double precision, ${partner.longitude}::double precision, ${partner.phone},
             ${partner.email}, ${partner.description}, ${partner.timezone}, ${partner.ownerId}::uuid, ${partner.ownerPhone}
      where ${partner.ownerId}::uuid is null
         or exists (select from users where id = ${partner.ownerId}::uuid and deleted_at is null)
      returning id, status, slug`
  )[0];

/** Locks an account until the transaction `tx` ends: no other one makes it the owner or staff of a partner. */
export const lockAccount = (tx: Db, userId: string) =>
  tx`select from users where id = ${userId}::uuid for no key update`;

/** Whether this user, or the user with this phone, owns or works for a partner. */
export const hasPartner = async (db: Db, userId: string | null, phone: string | null) => {
  const [row] = await db<{ taken: boolean }[]>`
    select exists (
      select from users u
      left join partner_staff s on s.user_id = u.id
      left join partners p on p.owner_id = u.id
      where (u.id = ${userId}::uuid or u.phone = ${phone}) and u.deleted_at is null and (s.user_id is not null or p.id is not null)
    ) as taken`;
  return row?.taken === true;
};

export interface PartnerRow {
  id: string;
  name: string;
  slug: string;
  status: PartnerStatus;
  cityId: string;
  address: string;
  latitude: number;
  longitude: number;
  description: string | null;
  /** As it was saved; see lib/domain/opening-hours.ts. */
  openingHours: unknown;
}

/** Finds the public profile of a partner that is or was active. */
export const findPublicPartner = async (db: Db, id: string) =>
  (
    await db<PartnerRow[]>`
      select id, name, slug, status, city_id as "cityId", address, latitude, longitude, description,
             opening_hours as "openingHours"
      from partners
      where id = ${id}::uuid and activated_at is not null`
  )[0];

/** A partner as its owner and staff see it. */
export interface OwnPartnerRow extends PartnerRow {
  phone: string | null;
  email: string | null;
  /** The partner's, else its city's. */
  timezone: string;
  preparationMinutes: number;
}

/** Finds the profile as the partner's owner and staff see it. */
export const findOwnPartner = async (db: Db, id: string) =>
  (
    await db<OwnPartnerRow[]>`
      select p.id, p.name, p.slug, p.status, p.city_id as "cityId", p.address, p.latitude, p.longitude, p.description,
             p.opening_hours as "openingHours", p.phone, p.email, coalesce(p.timezone, c.timezone) as timezone,
             p.preparation_minutes as "preparationMinutes"
      from partners p
      join cities c on c.id = p.city_id
      where p.id = ${id}::uuid`
  )[0];

/** What may be changed of a profile; a field that is left out stays as it is. */
export interface PartnerChanges {
  name?: string | undefined;
  cityId?: string | undefined;
  address?: string | undefined;
  latitude?: number | undefined;
  longitude?: number | undefined;
  phone?: string | undefined;
  email?: string | undefined;
  description?: string | undefined;
  timezone?: string | undefined;
  preparationMinutes?: number | undefined;
  openingHours?: OpeningHours[] | undefined;
}

/** Updates a partner's profile, inserts its city if it is new, and returns the profile. */
export async function updatePartner(db: Db, id: string, changes: PartnerChanges, cityTimezone: string) {
  const moved = [changes.address, changes.latitude, changes.longitude].some((value) => value !== undefined);
  const hours = changes.openingHours && db.json(changes.openingHours);
  await db`
      with new_city as (
        insert into cities (id, name, timezone)
        select ${changes.cityId ?? null}::text, ${changes.cityId ?? null}::text, ${cityTimezone}
        where ${changes.cityId ?? null}::text is not null
        on conflict (id) do nothing
      ), moved_boxes as (
        update boxes set city_id = ${changes.cityId ?? null}::text
        where partner_id = ${id}::uuid and status <> 'EXPIRED' and city_id <> ${changes.cityId ?? null}::text
      )
      update partners
      set name = coalesce(${changes.name ?? null}, name),
          city_id = coalesce(${changes.cityId ?? null}, city_id),
          address = coalesce(${changes.address ?? null}, address),
          latitude = coalesce(${changes.latitude ?? null}::double precision, latitude),
          longitude = coalesce(${changes.longitude ?? null}::double precision, longitude),
          phone = coalesce(${changes.phone ?? null}, phone),
          email = coalesce(${changes.email ?? null}, email),
          description = coalesce(${changes.description ?? null}, description),
          timezone = coalesce(${changes.timezone ?? null}, timezone),
          preparation_minutes = coalesce(${changes.preparationMinutes ?? null}::integer, preparation_minutes),
          opening_hours = coalesce(${hours ?? null}::jsonb, opening_hours),
          address_distance = case when ${moved}::boolean then null else address_distance end,
          updated_at = now()
      where id = ${id}::uuid`;
  return findOwnPartner(db, id);
}

export interface ListedPartner {
  id: string;
  name: string;
  status: PartnerStatus;
  slug: string;
  cityId: string;
  address: string;
  /** From the coordinates to where the address was found, in metres; null when it is not compared yet or was not found. */
  addressDistance: number | null;
  createdAt: Date;
}

export interface PartnerFilter {
  status: PartnerStatus | null;
  cityId: string | null;
  /** A literal part of the name, in any case. */
  q: string | null;
}

/** Lists partners for admins, newest first, after the one with id `after`. */
export const listPartners = (db: Db, { status, cityId, q }: PartnerFilter, after: string | null, limit: number) =>
  db<ListedPartner[]>`
    select id, name, status, slug, city_id as "cityId", address, address_distance as "addressDistance",
           created_at as "createdAt"
    from partners
    where (${status}::partner_status is null or status = ${status}::partner_status)
      and (${cityId}::text is null or city_id = ${cityId})
      and (${q}::text is null or position(lower(${q}::text) in lower(name)) > 0)
      and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc
    limit ${limit}`;

export interface MovedPartner {
  id: string;
  name: string;
  status: PartnerStatus;
}

const eventOf = {
  ACTIVE: "PARTNER_ACTIVE",
  REJECTED: "PARTNER_REJECTED",
  SUSPENDED: "PARTNER_SUSPENDED",
} as const satisfies Record<string, EventKind>;

/**
 * Makes an admin's move, with an audit record and an event for the partner's owner and staff; undefined when the status does not
 * allow it, or there is no such partner.
 */
export const movePartner = async (
  db: Db,
  id: string,
  move: PartnerMove,
  actorId: string,
  reason: string | null,
  requestId: string | null = null,
) => {
  const { from, to } = partnerMoves[move];
  const [moved] = await db<MovedPartner[]>`
    with moved as (
      update partners
      set status = ${to}::partner_status,
          status_reason = ${reason},
          activated_at = case when ${to} = 'ACTIVE' then coalesce(activated_at, now()) else activated_at end,
          updated_at = now()
      where id = ${id}::uuid and status = any (${[...from]}::partner_status[])
      returning id, name, status,
                stage_job('fan-out', jsonb_build_object('event', ${eventOf[to]}::text, 'subjectId', id), ${requestId}::text)
    ), audited as (
      insert into audit_events (actor_id, action, subject_id, details)
      select ${actorId}::uuid, ${`PARTNER_${move}`}, moved.id, jsonb_build_object('reason', ${reason}::text) from moved
    )
    select id, name, status from moved`;
  return moved;
};

/** Finds a partner's name and status, whatever its status. */
export const findPartner = async (db: Db, id: string) =>
  (await db<MovedPartner[]>`select id, name, status from partners where id = ${id}::uuid`)[0];

/**
 * Makes the holder of a phone the owner of a partner, in place of the present one, with an audit record; a phone without an
 * account becomes the owner at its first login. `tx` is a transaction. Undefined when there is no such partner; a unique
 * violation when the user owns another one.
 */
export async function updateOwner(tx: Db, id: string, phone: string, actorId: string) {
  await tx`select from users where phone = ${phone} and deleted_at is null for no key update`;
  return (
    await tx<(MovedPartner & { ownerId: string | null })[]>`
      with account as (
        select id from users where phone = ${phone} and deleted_at is null
      ), linked as (
        update partners
        set owner_id = (select id from account), owner_phone = ${phone}, updated_at = now()
        where id = ${id}::uuid
        returning id, name, status, owner_id
      ), left_staff as (
        delete from partner_staff
        where user_id in (select id from account) and exists (select from linked)
      ), audited as (
        insert into audit_events (actor_id, action, subject_id, details)
        select ${actorId}::uuid, 'PARTNER_OWNER', id, jsonb_build_object('ownerId', owner_id) from linked
      )
      select id, name, status, owner_id as "ownerId" from linked`
  )[0];
}
