import { newServiceId } from "../../lib/domain/service-id.js";
import type { Db } from "../db.js";
import { countRows, firstRow } from "../rows.js";
import type { Place } from "./otp.js";

/** The random ids to try: enough for one to be free, however many are taken. */
const serviceIdCandidates = 5;

/** A login and its user. */
export interface Session {
  userId: string;
  sessionId: string;
}

/** A login. */
export interface NewSession {
  /** The phone's, under every key in force. */
  phoneHashes: Uint8Array[];
  tokenDigest: Uint8Array;
  forDashboard: boolean;
  place: Place;
}

/**
 * Consumes a code and opens a session for its phone's user, whom the first login creates. Undefined when the code was used or
 * replaced in the meantime.
 */
export function insertSession(db: Db, otpId: string, { phoneHashes, tokenDigest, forDashboard, place }: NewSession) {
  const serviceIds = Array.from({ length: serviceIdCandidates }, newServiceId);
  return firstRow(db<Session[]>`
    select user_id, session_id
    from log_in(
      ${otpId}::uuid, ${serviceIds}::text[], ${phoneHashes}::bytea[], ${tokenDigest}::bytea, ${forDashboard}::boolean,
      ${place.name}::text, ${place.known}::boolean
    )
    where user_id is not null and session_id is not null`);
}

/** Finds the session that a phone's holder opened with a refresh token, also when it has ended; undefined when there is none. */
export const findSessionOfPhone = (db: Db, phone: string, digest: Uint8Array) =>
  firstRow(db<{ id: string }[]>`
    select sessions.id
    from refresh_tokens as token
    join sessions on sessions.id = token.session_id
    join users on users.id = sessions.user_id
    where token.digest = ${digest}::bytea and users.phone = ${phone} and users.deleted_at is null`);

/** An exchanged refresh token's session, and the digest of the token given for it. */
export interface Rotation extends Session {
  successor: Buffer;
}

/**
 * Exchanges a refresh token, given by its digest, for one of `successors`. Undefined when it is unknown, expired or revoked, or
 * was exchanged before, which revokes its session; but one repetition within 10 seconds returns the same successor.
 */
export const rotateRefreshToken = (db: Db, digest: Uint8Array, successors: Uint8Array[]) =>
  firstRow(db<Rotation[]>`
    select user_id, session_id, successor
    from rotate_refresh_token(${digest}::bytea, ${successors}::bytea[])
    where user_id is not null and session_id is not null and successor is not null`);

/** Revokes the session of a refresh token; false when the token is unknown, expired, revoked or was exchanged before. */
export async function revokeSession(db: Db, digest: Uint8Array, forDashboard: boolean): Promise<boolean> {
  const [revoked] = await db<{ current: boolean | null }[]>`
    update sessions set revoked_at = now()
    from refresh_tokens as token
    where token.digest = ${digest}::bytea and token.expires_at > now()
      and sessions.id = token.session_id and sessions.revoked_at is null and sessions.for_dashboard = ${forDashboard}::boolean
    returning token.rotated_at is null as current`;
  return revoked?.current ?? false;
}

/** Finds the user of a dashboard session opened with this token in the last `minutes`; null when it is older or revoked, or the account is deleted. */
export async function findSessionUser(db: Db, digest: Uint8Array, minutes: number): Promise<string | null> {
  const [session] = await db<{ userId: string }[]>`
    select users.id as user_id
    from refresh_tokens as token
    join sessions on sessions.id = token.session_id
    join users on users.id = sessions.user_id
    where token.digest = ${digest}::bytea and sessions.revoked_at is null and sessions.for_dashboard
      and sessions.created_at > now() - make_interval(mins => ${minutes}::integer) and users.deleted_at is null`;
  return session?.userId ?? null;
}

/** Deletes up to `limit` expired refresh tokens, and the sessions that have no token left; returns the number of tokens. */
export const deleteExpiredRefreshTokens = (db: Db, limit: number) =>
  countRows(db`
    with expired as (
      delete from refresh_tokens where digest = any (array(
        select digest from refresh_tokens where expires_at < now() limit ${limit}::integer for update skip locked
      ))
      returning digest, session_id
    ), ended as (
      delete from sessions
      where id in (select session_id from expired)
        and not exists (
          select from refresh_tokens as token
          where token.session_id = sessions.id and token.digest not in (select digest from expired)
        )
    )
    select from expired`);
