import type { Db } from "../db.js";

/** A new code as it is stored, and the limits on sending it; null: no limit. */
export interface NewOtp {
  phone: string;
  hash: Uint8Array;
  encrypted: string;
  address: string;
  addressLimit: number | null;
  totalLimit: number | null;
}

/** The id of the new code, null when a limit is reached; and the seconds until the client should allow the next send. */
export interface OtpSend {
  id: string | null;
  retryAfterSeconds: number;
}

/**
 * Makes a code the phone's only valid one, for 5 minutes. Limits: 3 sends per phone in any 5 minutes and 50 wrong guesses per
 * phone and day, whatever the concurrency; sends per address and in all as given, in windows of 5 minutes that begin
 * with a send.
 */
export async function insertOtp(db: Db, otp: NewOtp): Promise<OtpSend> {
  const [sent] = await db<OtpSend[]>`
    select id, retry_after_seconds as "retryAfterSeconds"
    from start_otp(
      ${otp.phone}::text, ${otp.hash}::bytea, ${otp.encrypted}::text,
      ${otp.address}::text, ${otp.addressLimit}::integer, ${otp.totalLimit}::integer
    )
    where retry_after_seconds is not null`;
  if (!sent) throw new Error("start_otp returned no row");
  return sent;
}

/** Permission to compare one guess with the phone's current code, or why it is refused. */
export type Guess =
  | { outcome: "COMPARE"; id: string; hash: Buffer }
  | { outcome: "NO_CODE" }
  | { outcome: "EXPIRED" }
  | { outcome: "TOO_MANY"; retryAfterSeconds: number };

/** How many guesses one code is compared with. */
const MAX_TRIES = 5;

/** Counts a guess before it is compared, so that concurrent guesses cannot exceed `MAX_TRIES` per code. */
export async function countGuess(db: Db, phone: string): Promise<Guess> {
  const [counted] = await db<{ id: string; hash: Buffer }[]>`
    update otp set
      tries = tries + 1,
      wrong_guesses = case when otp_guesses_end(otp) > now() then wrong_guesses + 1 else 1 end,
      guesses_since = case when otp_guesses_end(otp) > now() then guesses_since else now() end
    where phone = ${phone}::text and used_at is null and tries < ${MAX_TRIES}::integer and expires_at > now()
      and not otp_is_locked(otp)
    returning id, code_hash as "hash"`;
  if (counted) return { outcome: "COMPARE", ...counted };

  const [refused] = await db<{ outcome: "NO_CODE" | "EXPIRED" | "TOO_MANY"; retryAfterSeconds: number | null }[]>`
    select
      case
        when used_at is not null or tries >= ${MAX_TRIES}::integer then 'NO_CODE'
        when expires_at <= now() then 'EXPIRED'
        else 'TOO_MANY'
      end as "outcome",
      greatest(1, ceil(extract(epoch from otp_guesses_end(otp) - now())))::integer as "retryAfterSeconds"
    from otp
    where phone = ${phone}::text`;
  const { outcome = "NO_CODE", retryAfterSeconds } = refused ?? {};
  return outcome === "TOO_MANY" ? { outcome, retryAfterSeconds: retryAfterSeconds ?? 1 } : { outcome };
}

/** A code to send. */
export interface OutgoingCode {
  phone: string;
  encrypted: string;
  /** Null when the phone has no account yet. */
  locale: string | null;
}

/** Claims a code for sending, once; null when it was claimed, used, replaced or has expired: then it must not be sent. */
export async function consumeOutgoingCode(db: Db, otpId: string): Promise<OutgoingCode | null> {
  const [code] = await db<{ phone: string; encrypted: string | null; locale: string | null }[]>`
    update otp set claimed_at = now()
    where id = ${otpId}::uuid and claimed_at is null and used_at is null and sealed_code is not null and expires_at > now()
    returning phone, sealed_code as "encrypted",
      (select locale from users where users.phone = otp.phone and deleted_at is null) as "locale"`;
  return code?.encrypted ? { ...code, encrypted: code.encrypted } : null;
}

/** Releases a code that the gateway has certainly not accepted, so that it may be sent again. */
export const releaseOutgoingCode = (db: Db, otpId: string) =>
  db`update otp set claimed_at = null where id = ${otpId}::uuid`;

/** Erases the encrypted copy of a code that was sent, or may have been. */
export const eraseOutgoingCode = (db: Db, otpId: string, sent: boolean) =>
  db`
    update otp set sealed_code = null, sent_at = case when ${sent}::boolean then now() end
    where id = ${otpId}::uuid`;

/** Erases the encrypted copies of expired codes. */
export const eraseExpiredCodes = (db: Db) =>
  db`update otp set sealed_code = null where sealed_code is not null and expires_at <= now()`;

/** Deletes up to `limit` codes that expired a day ago, unless wrong guesses of their phones still count; returns their number. */
export async function deleteOldOtp(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    delete from otp where phone in (
      select phone from otp
      where expires_at < now() - interval '1 day' and otp_guesses_end(otp) < now()
      limit ${limit}::integer
      for update skip locked
    )`;
  return count;
}

/** Deletes up to `limit` counters of windows that have ended; returns their number. */
export async function deleteOldOtpSendCounts(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    delete from otp_send_counts where counter in (
      select counter from otp_send_counts
      where window_start < now() - interval '1 hour'
      limit ${limit}::integer
      for update skip locked
    )`;
  return count;
}
