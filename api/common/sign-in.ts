import { config } from "../../lib/process/config.js";
import { keyedHash, matchesKeyedHash, randomDigits, encryptText } from "../../lib/security/crypto.js";
import { ApiError } from "../../lib/process/errors.js";
import { formatWait } from "../../lib/outbound/retry-after.js";
import { sms } from "../../queues/index.js";
import { sql, transaction } from "../../sql/db.js";
import { insertOtp, countGuess } from "../../sql/queries/otp.js";
import { insertSession } from "../../sql/queries/sessions.js";
import { stageJob } from "../../sql/outbox.js";
import { clientNetwork } from "../http/client-network.js";

const codeDigits = 6;

const tooMany = (what: string, retryAfterSeconds: number) =>
  new ApiError(429, "RATE_LIMIT", `${what}; try again in ${formatWait(retryAfterSeconds)}.`, { retryAfterSeconds });

export const invalidCode = () => new ApiError(400, "INVALID_CODE", "The code is wrong or no longer valid.");

/** The text that is hashed; the phone in it makes equal codes hash differently. */
const otpOf = (phone: string, code: string) => `${phone} ${code}`;

/** Stages a new code for a phone and returns the seconds until another may be sent; throws 429 RATE_LIMIT past the limits. */
export async function sendCode(phone: string, { ip, requestId }: { ip: string; requestId: string }): Promise<number> {
  const code = config.OTP_FIXED_CODE ?? randomDigits(codeDigits);
  const { id, retryAfterSeconds } = await transaction(async (tx) => {
    const sent = await insertOtp(tx, {
      phone,
      hash: keyedHash("otp", otpOf(phone, code)),
      encrypted: encryptText(code, `otp:${phone}`),
      address: clientNetwork(ip, 64),
      addressLimit: config.RATE_LIMIT_DISABLED ? null : config.OTP_SENDS_PER_ADDRESS,
      totalLimit: config.RATE_LIMIT_DISABLED ? null : config.OTP_SENDS_TOTAL,
    });
    if (sent.id !== null) await stageJob(tx, sms, { otpId: sent.id }, { requestId });
    return sent;
  });
  if (id === null) throw tooMany("Too many codes were sent", retryAfterSeconds);
  return retryAfterSeconds;
}

/**
 * Consumes a phone's code, opens a session for the token with this digest, and returns the user's id. Throws
 * 400 INVALID_CODE, 401 EXPIRED_CODE, and 429 RATE_LIMIT after too many wrong codes.
 */
export async function openSession(
  phone: string,
  code: string,
  tokenDigest: Uint8Array,
  { forDashboard }: { forDashboard: boolean },
): Promise<string> {
  const guess = await countGuess(sql, phone);
  if (guess.outcome === "TOO_MANY") throw tooMany("Too many wrong codes for this phone", guess.retryAfterSeconds);
  if (guess.outcome === "EXPIRED") throw new ApiError(401, "EXPIRED_CODE", "The code has expired; ask for a new one.");
  if (guess.outcome === "NO_CODE" || !matchesKeyedHash("otp", otpOf(phone, code), guess.hash)) throw invalidCode();
  const userId = await insertSession(sql, guess.id, tokenDigest, forDashboard);
  if (userId === null) throw invalidCode();
  return userId;
}
