import { config } from "../../lib/process/config.js";
import { partnerMoves, type PartnerStatus } from "../../lib/domain/partner-moves.js";
import type { Db } from "../db.js";

/** The user whom a token authenticates, with present roles. */
export interface Principal {
  userId: string;
  isAdmin: boolean;
  /** The partner that the user owns or, if none, works for. */
  partnerId: string | null;
  partnerStatus: PartnerStatus | null;
}

/** Finds a user with present roles; null when the account does not exist. */
export async function findPrincipal(db: Db, userId: string): Promise<Principal | null> {
  const [principal] = await db<Principal[]>`
    select users.id as "userId", (users.is_admin or users.phone = any (${config.ADMIN_PHONES}::text[])) as "isAdmin",
      partners.id as "partnerId", partners.status as "partnerStatus"
    from users
    left join partners on partners.id = coalesce(
      (select owned.id from partners as owned where owned.owner_id = users.id),
      (select partner_id from partner_staff where user_id = users.id)
    )
    where users.id = ${userId}::uuid and users.deleted_at is null`;
  return principal ?? null;
}

/** Whether the account exists. */
export async function hasAccount(db: Db, userId: string): Promise<boolean> {
  return (await db`select from users where id = ${userId}::uuid and deleted_at is null`).count === 1;
}

export interface Profile {
  id: string;
  serviceId: string;
  phone: string;
  firstName: string | null;
  lastName: string | null;
  email: string | null;
  avatarUrl: string | null;
  /** The name of an uploaded image, instead of `avatarUrl`. */
  avatar: string | null;
  locale: string;
  timezone: string | null;
}

/** Finds a user's profile; null when the account does not exist. */
export async function findProfile(db: Db, userId: string): Promise<Profile | null> {
  const [profile] = await db<Profile[]>`
    select id, service_id as "serviceId", phone, first_name as "firstName", last_name as "lastName", email,
      avatar_url as "avatarUrl", avatar, locale, timezone
    from users
    where id = ${userId}::uuid and deleted_at is null and phone is not null`;
  return profile ?? null;
}

export type ProfileChanges = Partial<
  Record<"firstName" | "lastName" | "email" | "locale" | "timezone", string | undefined>
>;

/** Updates the given fields of a profile. */
export const updateProfile = (db: Db, userId: string, changes: ProfileChanges) =>
  db`
    update users set
      first_name = coalesce(${changes.firstName ?? null}::text, first_name),
      last_name = coalesce(${changes.lastName ?? null}::text, last_name),
      email = coalesce(${changes.email ?? null}::text, email),
      locale = coalesce(${changes.locale ?? null}::text, locale),
      timezone = coalesce(${changes.timezone ?? null}::text, timezone),
      updated_at = now()
    where id = ${userId}::uuid and deleted_at is null`;

/** A user's picture: a URL, or the name of an uploaded image that the caller has claimed. */
export type Avatar = { avatarUrl: string | null; avatar: null } | { avatarUrl: null; avatar: string };

/** Sets or removes a user's picture; returns the name of the image that it replaces, or undefined when the account does not exist. */
export async function updateAvatar(tx: Db, userId: string, { avatarUrl, avatar }: Avatar) {
  const [before] = await tx<{ avatar: string | null }[]>`
    select avatar from users where id = ${userId}::uuid and deleted_at is null for no key update`;
  if (!before) return undefined;
  await tx`
    update users set avatar_url = ${avatarUrl}, avatar = ${avatar}, updated_at = now() where id = ${userId}::uuid`;
  return before.avatar;
}

/** Deletes an account, as `delete_account` describes; false when it does not exist. */
export async function deleteAccount(db: Db, userId: string): Promise<boolean> {
  const [row] = await db<{ deleted: boolean | null }[]>`
    select deleted from delete_account(${userId}::uuid, ${[...partnerMoves.SUSPEND.from]}::partner_status[]) as deleted`;
  return row?.deleted === true;
}

/** Erases the personal data of up to `limit` accounts that were deleted 30 days ago; returns their number. */
export async function eraseAccounts(db: Db, limit: number): Promise<number> {
  const [row] = await db<{ erased: number | null }[]>`
    select erased from erase_accounts(${limit}::integer) as erased`;
  return row?.erased ?? 0;
}

/** Grants or revokes the role ADMIN by phone; false when the phone has no account. */
export async function updateAdmin(db: Db, phone: string, isAdmin: boolean): Promise<boolean> {
  const updated = await db<{ id: string }[]>`
    update users set is_admin = ${isAdmin}::boolean, updated_at = now()
    where phone = ${phone}::text and deleted_at is null
    returning id`;
  return updated.length > 0;
}
