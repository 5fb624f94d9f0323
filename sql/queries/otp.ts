import { z } from "zod";
import type { Db } from "../db.js";
import { countRows, onlyRow } from "../rows.js";

/** Where a login comes from. Limits are counted by place, so that a stranger's requests do not use up those of a phone's holder. */
export interface Place {
  /** A keyed hash of a client's network, or the session of an earlier login with the phone. */
  name: string;
  /** Whether it is an earlier login. */
  known: boolean;
}

/** A new code as it is stored, and the limits on sending it; null: no limit. */
export interface NewOtp {
  phone: string;
  hash: Uint8Array;
  encrypted: string;
  place: Place;
  /** Codes to the phone in a day; then there is one each half an hour. It does not hold for an earlier login. */
  dailyLimit: number | null;
  placeLimit: number | null;
  totalLimit: number | null;
}

/** The id of the new code, null when a limit is reached; and the seconds until the client should allow the next send. */
export interface OtpSend {
  id: string | null;
  retryAfterSeconds: number;
}

/**
 * Makes a code the phone's only valid one, for 5 minutes. Limits: 3 sends per phone in any 5 minutes, whatever the
 * concurrency; those of a day as given; sends per place and in all as given, in windows of 5 minutes that begin with a send.
 */
export const insertOtp = (db: Db, { place, ...otp }: NewOtp) =>
  onlyRow(db<OtpSend[]>`
    select id, retry_after_seconds
    from start_otp(
      ${otp.phone}::text, ${otp.hash}::bytea, ${otp.encrypted}::text, ${place.name}::text, ${place.known}::boolean,
      ${otp.dailyLimit}::integer, ${otp.placeLimit}::integer, ${otp.totalLimit}::integer
    )
    where retry_after_seconds is not null`);

/** Permission to compare one guess with the phone's current code, or why it is refused. */
const Guess = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.literal("COMPARE"), id: z.string(), hash: z.instanceof(Buffer) }),
  z.object({ outcome: z.enum(["NO_CODE", "EXPIRED"]) }),
  z.object({ outcome: z.literal("TOO_MANY"), retryAfterSeconds: z.number() }),
]);

/** A guess, with the hashes that it may have, and the limit on wrong ones from its place within `minutes`. */
export interface NewGuess {
  phone: string;
  hashes: readonly Uint8Array[];
  place: Place;
  limit: number | null;
  minutes: number;
}

/** Counts a guess as `count_guess` (sql/functions/otp.sql) describes. */
export async function countGuess(db: Db, { phone, hashes, place, limit, minutes }: NewGuess) {
  const guess = await onlyRow(db<
    { outcome: string | null; id: string | null; hash: Buffer | null; retryAfterSeconds: number | null }[]
  >`
    select outcome, id, hash, retry_after_seconds
    from count_guess(
      ${phone}::text, ${[...hashes]}::bytea[], ${place.name}::text, ${place.known}::boolean, ${limit}::integer,
      make_interval(mins => ${minutes}::integer)
    )`);
  return Guess.parse(guess);
}

/** A code to send. */
export interface OutgoingCode {
  phone: string;
  encrypted: string;
  /** Null when the phone has no account yet. */
  locale: string | null;
}

/**
 * Claims a code for sending, once; null when it was claimed, used, replaced or has expired: then it must not be sent. `claim` is
 * the run's own: when the answer was lost, the same claim may be made again until the code is released or erased.
 */
export async function claimOutgoingCode(db: Db, otpId: string, claim: string): Promise<OutgoingCode | null> {
  const [code] = await db<{ phone: string; encrypted: string | null; locale: string | null }[]>`
    update otp set claimed_at = now(), claim = ${claim}::uuid
    where id = ${otpId}::uuid and (claimed_at is null) = (claim is distinct from ${claim}::uuid)
      and used_at is null and encrypted_code is not null and expires_at > now()
    returning phone, encrypted_code as encrypted,
      (select locale from users where users.phone = otp.phone and deleted_at is null) as locale`;
  return code?.encrypted ? { ...code, encrypted: code.encrypted } : null;
}

/** Releases a code that the gateway has certainly not accepted, so that it may be sent again. */
export const releaseOutgoingCode = (db: Db, otpId: string) =>
  db`update otp set claimed_at = null where id = ${otpId}::uuid`;

/** Erases the encrypted copy of a code that was sent, or may have been. */
export const eraseOutgoingCode = (db: Db, otpId: string, sent: boolean) =>
  db`
    update otp set encrypted_code = null, sent_at = case when ${sent}::boolean then now() end
    where id = ${otpId}::uuid`;

/** Erases the encrypted copies of expired codes. */
export const eraseExpiredCodes = (db: Db) =>
  db`update otp set encrypted_code = null where encrypted_code is not null and expires_at <= now()`;

/** Deletes up to `limit` codes that expired a day ago, unless wrong guesses of their phones still count; returns their number. */
export const deleteOldOtp = (db: Db, limit: number) =>
  countRows(db`
    delete from otp where phone = any (array(
      select phone from otp
      where expires_at < now() - interval '1 day' and otp_guesses_end(otp) < now()
      limit ${limit}::integer
      for update skip locked
    ))`);
