import { partnerMoves, type PartnerMove, type PartnerStatus } from "../../lib/domain/partner-moves.js";
import type { OpeningHours } from "../../lib/domain/opening-hours.js";
import type { EventKind } from "../../queues/fan-out.js";
import type { Db } from "../db.js";
import { countRows, firstRow, hasRows, type Changes } from "../rows.js";

export interface NewPartner {
  /** The slug, to which a number or, at once with others, random characters are added when it is in use. */
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

/** Inserts a partner for review, and its city if it is new; undefined when the owner's account does not exist. */
export const insertPartner = (db: Db, partner: NewPartner) =>
  firstRow(db<Pick<PartnerRow, "id" | "status" | "slug">[]>`
    with registered as (
      insert into partners (
        slug, name, city_id, address, latitude, longitude, phone, email, description, timezone, owner_id, owner_phone
      )
      select claim_slug(${partner.slug}), ${partner.name}, ${partner.cityId}, ${partner.address},
             ${partner.latitude}::double precision, ${partner.longitude}::double precision, ${partner.phone},
             ${partner.email}, ${partner.description}, ${partner.timezone}, ${partner.ownerId}::uuid, ${partner.ownerPhone}
      from keep_city(${partner.cityId}::text, ${partner.cityTimezone}::text)
      where ${partner.ownerId}::uuid is null
         or exists (select from users where id = ${partner.ownerId}::uuid and deleted_at is null)
      returning id, status, slug,
                record_event('partner.registered', id, jsonb_build_object('status', status, 'from', null::text))
    )
    select id, status, slug from registered`);

/**
 * Deletes up to `limit` registrations that waited for 90 days without an owner and without an admin who did anything with
 * them; returns their number.
 */
export const deleteForgottenRegistrations = (db: Db, limit: number) =>
  countRows(db`
    delete from partners
    where id in (
      select p.id from partners p
      where p.status = 'PENDING_REVIEW' and p.owner_id is null and p.created_at < now() - interval '90 days'
        and not exists (select from audit_events e where e.subject_id = p.id)
        and not exists (select from promo_codes c where c.partner_id = p.id)
        and not exists (select from partner_staff s where s.partner_id = p.id)
      limit ${limit}::integer
      for update of p skip locked
    )`);

/**
 * Deletes up to `limit` registrations that their owners declined or replaced 90 days ago. They were never approved, and have
 * neither a menu nor boxes. Returns their number.
 */
export const deleteReleasedRegistrations = (db: Db, limit: number) =>
  countRows(db`
    delete from partners
    where id in (
      select p.id from partners p
      where p.status = 'SUSPENDED' and p.activated_at is null and p.owner_left_at < now() - interval '90 days'
        and p.owner_id is null and p.owner_phone is null
        and not exists (select from partner_staff s where s.partner_id = p.id)
        and not exists (select from staff_invitations i where i.partner_id = p.id)
        and not exists (select from menu_categories c where c.partner_id = p.id)
        and not exists (select from menu_imports i where i.partner_id = p.id)
        and not exists (select from boxes b where b.partner_id = p.id)
        and not exists (select from promo_codes c where c.partner_id = p.id)
        and not exists (select from commission_rates r where r.partner_id = p.id)
        and not exists (select from pos_credentials c where c.partner_id = p.id)
      limit ${limit}::integer
      for update of p skip locked
    )`);

/** Locks an account until the transaction `tx` ends: no other one makes it the owner or staff of a partner. */
export const lockAccount = (tx: Db, userId: string) =>
  tx`select from users where id = ${userId}::uuid for no key update`;

/** Makes room for a partner that a user registers, as `make_room_for_partner` describes; false when they have another one. */
export const makeRoomForPartner = (tx: Db, userId: string) =>
  hasRows(tx`
    select from make_room_for_partner(${userId}::uuid, ${[...partnerMoves.SUSPEND.from]}::partner_status[]) as free
    where free`);

/** Declines the partner that a user owns because somebody named their phone; false when they own no such partner. */
export const declinePartner = (db: Db, userId: string) =>
  hasRows(db`
    select from decline_partner(${userId}::uuid, ${[...partnerMoves.SUSPEND.from]}::partner_status[]) as declined
    where declined`);

/** Locks the registrations that name a phone until `tx` ends, and counts those that wait for review, up to `limit`. */
export async function countOpenRegistrations(tx: Db, phone: string, limit: number): Promise<number> {
  await tx`select from pg_advisory_xact_lock(hashtextextended('registration ' || ${phone}::text, 0))`;
  return countRows(tx`
    select from partners where owner_phone = ${phone} and status = 'PENDING_REVIEW' limit ${limit}::integer`);
}

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
export const findPublicPartner = (db: Db, id: string) =>
  firstRow(db<PartnerRow[]>`
    select id, name, slug, status, city_id, address, latitude, longitude, description, opening_hours
    from partners
    where id = ${id}::uuid and activated_at is not null`);

/** A partner as its owner and staff see it. */
export interface OwnPartnerRow extends PartnerRow {
  phone: string | null;
  email: string | null;
  /** The partner's, else its city's. */
  timezone: string;
  preparationMinutes: number;
}

/** Finds the profile as the partner's owner and staff see it. */
export const findOwnPartner = (db: Db, id: string) =>
  firstRow(db<OwnPartnerRow[]>`
    select p.id, p.name, p.slug, p.status, p.city_id, p.address, p.latitude, p.longitude, p.description,
           p.opening_hours, p.phone, p.email, coalesce(p.timezone, c.timezone) as timezone,
           p.preparation_minutes
    from partners p
    join cities c on c.id = p.city_id
    where p.id = ${id}::uuid`);

type PartnerChanges = Changes<
  Omit<OwnPartnerRow, "id" | "slug" | "status" | "openingHours"> & { openingHours: OpeningHours[] }
>;

/** Updates a partner's profile (null clears a field), inserts its city if it is new, and returns the profile. `tx` is a transaction. */
export async function updatePartner(tx: Db, id: string, changes: PartnerChanges, cityTimezone: string) {
  const moved = [changes.address, changes.latitude, changes.longitude].some((value) => value !== undefined);
  const hours = changes.openingHours && tx.json(changes.openingHours);
  if (changes.cityId !== undefined) await tx`select from keep_city(${changes.cityId}::text, ${cityTimezone}::text)`;
  await tx`
      with moved_boxes as (
        update boxes set city_id = ${changes.cityId ?? null}::text
        where partner_id = ${id}::uuid and status <> 'EXPIRED' and city_id <> ${changes.cityId ?? null}::text
      )
      update partners
      set name = coalesce(${changes.name ?? null}, name),
          city_id = coalesce(${changes.cityId ?? null}, city_id),
          address = coalesce(${changes.address ?? null}, address),
          latitude = coalesce(${changes.latitude ?? null}::double precision, latitude),
          longitude = coalesce(${changes.longitude ?? null}::double precision, longitude),
          phone = case when ${changes.phone !== undefined}::boolean then ${changes.phone ?? null}::text else phone end,
          email = case when ${changes.email !== undefined}::boolean then ${changes.email ?? null}::text else email end,
          description = case when ${changes.description !== undefined}::boolean then ${changes.description ?? null}::text else description end,
          timezone = coalesce(${changes.timezone ?? null}, timezone),
          preparation_minutes = coalesce(${changes.preparationMinutes ?? null}::integer, preparation_minutes),
          opening_hours = coalesce(${hours ?? null}::jsonb, opening_hours),
          address_distance = case when ${moved}::boolean then null else address_distance end,
          updated_at = now()
      where id = ${id}::uuid`;
  return findOwnPartner(tx, id);
}

export interface ListedPartner extends Pick<PartnerRow, "id" | "name" | "status" | "slug" | "cityId" | "address"> {
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
    select id, name, status, slug, city_id, address, address_distance, created_at
    from partners
    where (${status}::partner_status is null or status = ${status}::partner_status)
      and (${cityId}::text is null or city_id = ${cityId})
      and (${q}::text is null or position(lower(${q}::text) in lower(name)) > 0)
      and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc
    limit ${limit}`;

export type MovedPartner = Pick<PartnerRow, "id" | "name" | "status">;

const eventOf = {
  ACTIVE: "PARTNER_ACTIVE",
  REJECTED: "PARTNER_REJECTED",
  SUSPENDED: "PARTNER_SUSPENDED",
} as const satisfies Record<string, EventKind>;

/**
 * Makes an admin's move, with an audit record and an event for the partner's owner and staff; undefined when the status does not
 * allow it, or there is no such partner.
 */
export const movePartner = (
  db: Db,
  id: string,
  move: PartnerMove,
  actorId: string,
  reason: string | null,
  requestId: string | null = null,
) => {
  const { from, to, audit } = partnerMoves[move];
  return firstRow(db<MovedPartner[]>`
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
      select ${actorId}::uuid, ${audit}, moved.id, jsonb_build_object('reason', ${reason}::text) from moved
    )
    select id, name, status from moved`);
};

/** Finds a partner's name and status, whatever its status. */
export const findPartner = (db: Db, id: string) =>
  firstRow(db<MovedPartner[]>`select id, name, status from partners where id = ${id}::uuid`);

/**
 * Makes the holder of a phone the owner of a partner, in place of the present one, with an audit record, and staff of none, as
 * `remove_staff` describes; a phone without an account becomes the owner at its first login. `tx` is a transaction. Undefined when
 * there is no such partner; a unique violation when the user owns another one.
 */
export async function updateOwner(tx: Db, id: string, phone: string, actorId: string) {
  const [account] = await tx<{ id: string }[]>`
    select id from users where phone = ${phone} and deleted_at is null for no key update`;
  const userId = account?.id ?? null;
  await tx`select from release_rejected(${userId}::uuid)`;
  // in id order, as in delete_account
  await tx`
    select from partners
    where id = ${id}::uuid or id = (select partner_id from partner_staff where user_id = ${userId}::uuid)
    order by id
    for update`;
  const [linked] = await tx<(MovedPartner & { ownerId: string | null })[]>`
    with linked as (
      update partners
      set owner_id = ${userId}::uuid, owner_phone = ${phone}, updated_at = now()
      where id = ${id}::uuid
      returning id, name, status, owner_id,
                case when owner_id is not null then
                  stage_job('fan-out', jsonb_build_object('event', 'PARTNER_OWNED', 'subjectId', id))
                end
    ), audited as (
      insert into audit_events (actor_id, action, subject_id, details)
      select ${actorId}::uuid, 'PARTNER_OWNER', id, jsonb_build_object('ownerId', owner_id) from linked
    )
    select id, name, status, owner_id from linked`;
  if (linked) {
    await tx`
      select
      from partner_staff s
      cross join lateral remove_staff(
        s.partner_id, s.user_id, ${actorId}::uuid, ${[...partnerMoves.SUSPEND.from]}::partner_status[]
      )
      where s.user_id = ${userId}::uuid`;
  }
  return linked;
}
