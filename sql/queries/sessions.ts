import { newServiceId } from "../../lib/domain/service-id.js";
import type { Db } from "../db.js";

/** So many random ids are tried, so that one is free however many are taken. */
const serviceIdCandidates = 5;

/**
 * Consumes a code and opens a session for its phone's user, whom the first login creates. Returns the user's id, or null when
 * the code was used or replaced in the meantime.
 */
export async function insertSession(
  db: Db,
  otpId: string,
  tokenDigest: Uint8Array,
  forDashboard: boolean,
): Promise<string | null> {
  const serviceIds = Array.from({ length: serviceIdCandidates }, newServiceId);
  const [session] = await db<{ userId: string }[]>`
    select user_id as "userId"
    from log_in(${otpId}::uuid, ${serviceIds}::text[], ${tokenDigest}::bytea, ${forDashboard}::boolean)
    where user_id is not null`;
  return session?.userId ?? null;
}

/** The user of an exchanged refresh token, and the digest of the token given for it. */
export interface Rotation {
  userId: string;
  successor: Buffer;
}

/**
 * Exchanges a refresh token, given by its digest, for one of `successors`. Null when it is unknown, expired or revoked, or was
 * exchanged before, which revokes its session; but one repetition within 10 seconds returns the same successor.
 */
export async function rotateRefreshToken(
  db: Db,
  digest: Uint8Array,
  successors: Uint8Array[],
): Promise<Rotation | null> {
  const [rotation] = await db<Rotation[]>`
    select user_id as "userId", successor
    from rotate_refresh_token(${digest}::bytea, ${successors}::bytea[])
    where user_id is not null and successor is not null`;
  return rotation ?? null;
}

/** Revokes the session of a refresh token; false when the token is unknown, expired, revoked or was exchanged before. */
export async function revokeSession(db: Db, digest: Uint8Array, forDashboard: boolean): Promise<boolean> {
  const [revoked] = await db<{ current: boolean | null }[]>`
    update sessions set revoked_at = now()
    from refresh_tokens as token
    where token.digest = ${digest}::bytea and token.expires_at > now()
      and sessions.id = token.session_id and sessions.revoked_at is null and sessions.for_dashboard = ${forDashboard}::boolean
    returning token.rotated_at is null as "current"`;
  return revoked?.current ?? false;
}

/** Finds the user of a dashboard session opened with this token in the last `minutes`; null when it is older or revoked, or the account is deleted. */
export async function findSessionUser(db: Db, digest: Uint8Array, minutes: number): Promise<string | null> {
  const [session] = await db<{ userId: string }[]>`
    select users.id as "userId"
    from refresh_tokens as token
    join sessions on sessions.id = token.session_id
    join users on users.id = sessions.user_id
    where token.digest = ${digest}::bytea and sessions.revoked_at is null and sessions.for_dashboard
      and sessions.created_at > now() - make_interval(mins => ${minutes}::integer) and users.deleted_at is null`;
  return session?.userId ?? null;
}

/** Deletes up to `limit` expired refresh tokens, and the sessions that have no token left; returns the number of tokens. */
export async function deleteExpiredRefreshTokens(db: Db, limit: number): Promise<number> {
  const [deleted] = await db<{ count: number }[]>`
    with expired as (
      delete from refresh_tokens where digest in (
        select digest from refresh_tokens where expires_at < now() limit ${limit}::integer for update skip locked
      )
      returning digest, session_id
    ), ended as (
      delete from sessions
      where id in (select session_id from expired)
        and not exists (
          select from refresh_tokens as token
          where token.session_id = sessions.id and token.digest not in (select digest from expired)
        )
    )
    select coalesce(count(*), 0)::integer as count from expired`;
  return deleted?.count ?? 0;
}
