import { config } from "../../lib/process/config.js";
import { keyedHash } from "../../lib/security/crypto.js";
import { partnerMoves, type PartnerStatus } from "../../lib/domain/partner-moves.js";
import type { Db } from "../db.js";
import { firstRow, hasRows, onlyValue, type Changes } from "../rows.js";

/** The user whom a token authenticates, with present roles. */
export interface Principal {
  userId: string;
  isAdmin: boolean;
  /** Whether the user may look at the operators' console. */
  isObserver: boolean;
  /** The partner that the user owns or, if none, works for. */
  partnerId: string | null;
  partnerStatus: PartnerStatus | null;
}

/** Finds a user with present roles; undefined when the account does not exist, or the session, if one is given, has ended. */
export const findPrincipal = (db: Db, userId: string, sessionId: string | null = null) =>
  firstRow(db<Principal[]>`
    select users.id as user_id, (users.is_admin or users.phone = any (${config.ADMIN_PHONES}::text[])) as is_admin, users.is_observer,
      partners.id as partner_id, partners.status as partner_status
    from users
    left join partners on partners.id = coalesce(
      (select owned.id from partners as owned where owned.owner_id = users.id),
      (select partner_id from partner_staff where user_id = users.id)
    )
    where users.id = ${userId}::uuid and users.deleted_at is null
      and (
        ${sessionId}::uuid is null
        or exists (select from sessions where id = ${sessionId}::uuid and revoked_at is null)
      )`);

/** Whether the account exists, and the session, if one is given, has not ended. */
export const hasAccount = (db: Db, userId: string, sessionId: string | null) =>
  hasRows(db`
    select from users
    where id = ${userId}::uuid and deleted_at is null
      and (
        ${sessionId}::uuid is null
        or exists (select from sessions where id = ${sessionId}::uuid and revoked_at is null)
      )`);

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

/** Finds a user's profile; undefined when the account does not exist, or the session, if one is given, has ended. */
export const findProfile = (db: Db, userId: string, sessionId: string | null = null) =>
  firstRow(db<Profile[]>`
    select id, service_id, phone, first_name, last_name, email, avatar_url, avatar, locale, timezone
    from users
    where id = ${userId}::uuid and deleted_at is null and phone is not null
      and (
        ${sessionId}::uuid is null
        or exists (select from sessions where id = ${sessionId}::uuid and revoked_at is null)
      )`);

type ProfileChanges = Changes<Pick<Profile, "firstName" | "lastName" | "email" | "locale" | "timezone">>;

/** Updates the given fields of a profile; null clears one. */
export const updateProfile = (db: Db, userId: string, changes: ProfileChanges) =>
  db`
    update users set
      first_name = case when ${changes.firstName !== undefined}::boolean then ${changes.firstName ?? null}::text else first_name end,
      last_name = case when ${changes.lastName !== undefined}::boolean then ${changes.lastName ?? null}::text else last_name end,
      email = case when ${changes.email !== undefined}::boolean then ${changes.email ?? null}::text else email end,
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
  const profile = await findProfile(db, userId);
  if (!profile) return false;
  return hasRows(db`
    select
    from delete_account(
      ${userId}::uuid, ${keyedHash("phone", profile.phone)}::bytea, ${[...partnerMoves.SUSPEND.from]}::partner_status[]
    ) as deleted
    where deleted`);
}

/** Counts the accounts that `eraseAccounts` has to erase. */
export const countAccountsToErase = (db: Db) =>
  onlyValue(db<{ due: number }[]>`
    select count(*) as due from users where deleted_at < now() - interval '30 days' and erased_at is null`);

/** Erases the personal data of up to `limit` accounts that were deleted 30 days ago; returns their number. */
export const eraseAccounts = (db: Db, limit: number) =>
  onlyValue(db<{ erased: number }[]>`
    select coalesce(erased, 0) as erased from erase_accounts(${limit}::integer) as erased`);

/** Lets a user look at the operators' console, or not any more; returns whether they could, undefined when the phone has no account. */
export async function updateObserver(db: Db, phone: string, isObserver: boolean): Promise<boolean | undefined> {
  const user = await firstRow(db<{ wasObserver: boolean }[]>`
    with before as materialized (
      select id, is_observer from users where phone = ${phone}::text and deleted_at is null for no key update
    )
    update users set is_observer = ${isObserver}::boolean, updated_at = now()
    from before
    where users.id = before.id
    returning before.is_observer as was_observer`);
  return user?.wasObserver;
}

/** Whether the user with this phone has the role ADMIN. */
export const hasAdmin = (db: Db, phone: string) =>
  hasRows(db`select from users where phone = ${phone}::text and deleted_at is null and is_admin`);

/** Grants or revokes the role ADMIN by phone; returns whether the user had it, undefined when the phone has no account. */
export async function updateAdmin(db: Db, phone: string, isAdmin: boolean): Promise<boolean | undefined> {
  const user = await firstRow(db<{ wasAdmin: boolean }[]>`
    with before as materialized (
      select id, is_admin from users where phone = ${phone}::text and deleted_at is null for no key update
    )
    update users set is_admin = ${isAdmin}::boolean, updated_at = now()
    from before
    where users.id = before.id
    returning before.is_admin as was_admin`);
  return user?.wasAdmin;
}
