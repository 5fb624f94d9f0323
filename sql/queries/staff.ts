import { z } from "zod";
import type { Db } from "../db.js";

export interface StaffMember {
  /** The user's. */
  id: string;
  phone: string;
  firstName: string | null;
  lastName: string | null;
  since: Date;
}

/** A phone that nobody has logged in with yet. */
export interface Invitation {
  id: string;
  phone: string;
  since: Date;
}

/** Lists a partner's staff, oldest first; there are never many. */
export const listStaff = (db: Db, partnerId: string) =>
  db<StaffMember[]>`
    select u.id, coalesce(u.phone, '') as phone, u.first_name as "firstName", u.last_name as "lastName", s.created_at as since
    from partner_staff s
    join users u on u.id = s.user_id
    where s.partner_id = ${partnerId}::uuid
    order by s.created_at, u.id`;

/** Lists who is invited to a partner's staff, oldest first; there are never many. */
export const listInvitations = (db: Db, partnerId: string) =>
  db<Invitation[]>`
    select id, phone, created_at as since from staff_invitations where partner_id = ${partnerId}::uuid order by id`;

/** What `add_staff` (sql/functions/staff.sql) answers. */
const Added = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.enum(["ADDED", "KNOWN"]), id: z.string(), userId: z.string().nullable() }),
  z.object({ outcome: z.enum(["TAKEN", "FULL"]) }),
]);

/** Adds whoever has this phone to a partner's staff, or invites them; undefined when `ownerId` does not own the partner. */
export async function insertStaff(db: Db, partnerId: string, ownerId: string, phone: string, most: number) {
  const [row] = await db<{ outcome: string | null; id: string | null; userId: string | null }[]>`
    select outcome, id, user_id as "userId"
    from add_staff(${partnerId}::uuid, ${ownerId}::uuid, ${phone}, ${most}::integer)`;
  return row && Added.parse(row);
}

/** Whether this user owns the partner. */
export async function isOwner(db: Db, partnerId: string, userId: string): Promise<boolean> {
  return (await db`select from partners where id = ${partnerId}::uuid and owner_id = ${userId}::uuid`).count === 1;
}

/** Takes someone out of a partner's staff, or an invitation back; its owner may, and everyone may leave. False when there is nothing to take. */
export async function deleteStaff(db: Db, partnerId: string, actorId: string, id: string): Promise<boolean> {
  const [row] = await db<{ gone: boolean }[]>`
    with allowed as (
      select p.id as partner_id
      from partners p
      where p.id = ${partnerId}::uuid and (p.owner_id = ${actorId}::uuid or ${actorId}::uuid = ${id}::uuid)
    ), left_staff as (
      delete from partner_staff
      where user_id = ${id}::uuid and partner_id in (select partner_id from allowed)
      returning user_id
    ), taken_back as (
      delete from staff_invitations
      where id = ${id}::uuid and partner_id in (select partner_id from allowed)
      returning id
    )
    select exists (select from left_staff) or exists (select from taken_back) as gone`;
  return row?.gone === true;
}
