import { z } from "zod";
import { partnerMoves } from "../../lib/domain/partner-moves.js";
import type { Db } from "../db.js";
import { countRows, hasRows } from "../rows.js";

export interface StaffMember {
  /** The user's id. */
  id: string;
  phone: string;
  firstName: string | null;
  lastName: string | null;
  since: Date;
}

/** An invitation that is not accepted. */
export interface Invitation {
  id: string;
  phone: string;
  since: Date;
}

/** Lists a partner's staff, oldest first; `invite_staff` bounds their number. */
export const listStaff = (db: Db, partnerId: string) =>
  db<StaffMember[]>`
    select u.id, coalesce(u.phone, '') as phone, u.first_name, u.last_name, s.created_at as since
    from partner_staff s
    join users u on u.id = s.user_id
    where s.partner_id = ${partnerId}::uuid
    order by s.created_at, u.id`;

/** Lists a partner's open invitations, oldest first; `invite_staff` bounds their number. */
export const listInvitations = (db: Db, partnerId: string) =>
  db<Invitation[]>`
    select id, phone, created_at as since from staff_invitations where partner_id = ${partnerId}::uuid order by id`;

/** What `invite_staff` (sql/functions/staff.sql) returns. */
const Invited = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.enum(["INVITED", "KNOWN"]), id: z.string() }),
  z.object({ outcome: z.literal("FULL") }),
]);

/** Invites the holder of a phone to a partner's staff; undefined when `ownerId` does not own the partner. */
export async function insertInvitation(db: Db, partnerId: string, ownerId: string, phone: string, max: number) {
  const [row] = await db<{ outcome: string | null; id: string | null }[]>`
    select outcome, id from invite_staff(${partnerId}::uuid, ${ownerId}::uuid, ${phone}, ${max}::integer)`;
  return row && Invited.parse(row);
}

export interface OwnInvitation {
  id: string;
  partnerId: string;
  partnerName: string;
  since: Date;
}

/** Lists the invitations by active partners to a user's phone, oldest first, after the one with id `after`. */
export const listOwnInvitations = (db: Db, userId: string, after: string | null, limit: number) =>
  db<OwnInvitation[]>`
    select i.id, i.partner_id, p.name as partner_name, i.created_at as since
    from users u
    join staff_invitations i on i.phone = u.phone
    join partners p on p.id = i.partner_id and p.status = 'ACTIVE'
    where u.id = ${userId}::uuid and u.deleted_at is null and (${after}::uuid is null or i.id > ${after}::uuid)
    order by i.id
    limit ${limit}`;

/** What `accept_invitation` (sql/functions/staff.sql) returns. */
const Accepted = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.literal("JOINED"), partnerId: z.string() }),
  z.object({ outcome: z.literal("TAKEN") }),
]);

/** Accepts an invitation; undefined when there is none for the user's phone. */
export async function acceptInvitation(db: Db, id: string, userId: string) {
  const [row] = await db<{ outcome: string | null; partnerId: string | null }[]>`
    select outcome, partner_id from accept_invitation(${id}::uuid, ${userId}::uuid)`;
  return row && Accepted.parse(row);
}

/** Declines an invitation; false when there is none for the user's phone. */
export const declineInvitation = (db: Db, id: string, userId: string) =>
  hasRows(db`
    delete from staff_invitations
    where id = ${id}::uuid and phone = (select phone from users where id = ${userId}::uuid and deleted_at is null)`);

/** Deletes up to `limit` invitations that were not accepted within 30 days; returns their number. */
export const deleteOldInvitations = (db: Db, limit: number) =>
  countRows(db`
    delete from staff_invitations
    where id = any (array(
      select id from staff_invitations where created_at < now() - interval '30 days' limit ${limit}::integer
      for update skip locked
    ))`);

/** Whether this user owns the partner. */
export const isOwner = (db: Db, partnerId: string, userId: string) =>
  hasRows(db`select from partners where id = ${partnerId}::uuid and owner_id = ${userId}::uuid`);

/**
 * Removes a member of staff, as `remove_staff` describes, which the owner and the member may do, or an invitation, which the owner
 * may. False when nothing was removed.
 */
export const deleteStaff = (db: Db, partnerId: string, actorId: string, id: string) =>
  hasRows(db`
    with allowed as materialized (
      select p.id as partner_id
      from partners p
      where p.id = ${partnerId}::uuid and (p.owner_id = ${actorId}::uuid or ${actorId}::uuid = ${id}::uuid)
    ), revoked as (
      delete from staff_invitations
      where id = ${id}::uuid and partner_id in (select partner_id from allowed)
      returning id
    )
    select
    from allowed
    where remove_staff(partner_id, ${id}::uuid, ${actorId}::uuid, ${[...partnerMoves.SUSPEND.from]}::partner_status[])
       or exists (select from revoked)`);
