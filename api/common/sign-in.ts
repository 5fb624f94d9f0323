import { Counter } from "prom-client";
import { config } from "../../lib/process/config.js";
import { keyedHash, keyedHashes, matchesKeyedHash, randomDigits, encryptText } from "../../lib/security/crypto.js";
import { formatWait } from "../../lib/outbound/retry-after.js";
import { refreshTokenDigest } from "../../lib/security/tokens.js";
import { sms } from "../../queues/index.js";
import { contended, inTurn, lookups, sql, transaction } from "../../sql/db.js";
import { insertOtp, countGuess, type Place } from "../../sql/queries/otp.js";
import { findSessionOfPhone, insertSession, type Session } from "../../sql/queries/sessions.js";
import { stageJob } from "../../sql/outbox.js";
import { storedClient } from "../http/client-network.js";
import { unlessDisabled } from "../http/limits.js";
import { refusal, refusalWith } from "../http/refusal.js";
import { retryFacts } from "../http/refusals.js";
import { registry } from "../http/registry.js";

const codeDigits = 6;
/** Wrong guesses of a device that logged in before; those of others are limited per address. */
const knownGuesses = { limit: 50, minutes: 24 * 60 };

const codes = new Counter({
  name: "login_codes_total",
  help: "Login codes that clients requested, by outcome: sent, or refused by a limit.",
  labelNames: ["outcome"],
  registers: [registry],
});

const guesses = new Counter({
  name: "login_guesses_total",
  help: "Codes that clients entered, by outcome: right, wrong, void (no code, used or expired), or refused by a limit.",
  labelNames: ["outcome"],
  registers: [registry],
});

for (const outcome of ["sent", "refused"]) codes.inc({ outcome }, 0);
for (const outcome of ["right", "wrong", "void", "refused"]) guesses.inc({ outcome }, 0);

const wait = ({ retryAfterSeconds }: { retryAfterSeconds: number }) => `try again in ${formatWait(retryAfterSeconds)}.`;

export const tooManyCodes = refusalWith(429, "RATE_LIMIT", "TOO_MANY_CODES", {
  detail: (facts) => `Too many codes were sent; ${wait(facts)}`,
  remedy: "Let the user enter the code of the last SMS, or wait for `retryAfterSeconds`.",
  facts: retryFacts,
  example: { retryAfterSeconds: 240 },
});
export const tooManyGuesses = refusalWith(429, "RATE_LIMIT", "TOO_MANY_GUESSES", {
  detail: (facts) => `Too many wrong codes; request a new one; ${wait(facts)}`,
  remedy: "Wait for `retryAfterSeconds`, then request a new code.",
  facts: retryFacts,
  example: { retryAfterSeconds: 240 },
});
export const invalidCode = refusal(
  400,
  "INVALID_CODE",
  "INVALID_CODE",
  "The code is wrong or no longer valid.",
  "Let the user enter the code of the last SMS again, or request a new one.",
);
export const expiredCode = refusal(
  401,
  "EXPIRED_CODE",
  "EXPIRED_CODE",
  "The code has expired; ask for a new one.",
  "Request a new code.",
);

/** The text that is hashed; the phone in it makes equal codes hash differently. */
const otpOf = (phone: string, code: string) => `${phone} ${code}`;

/** Who logs in: a client's address and, from a device that logged in with the phone before, a refresh token of that login. */
export interface Client {
  ip: string;
  refreshToken: string | null;
}

async function placeOf(phone: string, { ip, refreshToken }: Client): Promise<Place> {
  const session =
    refreshToken === null ? undefined : await findSessionOfPhone(lookups, phone, refreshTokenDigest(refreshToken));
  return session ? { name: `session ${session.id}`, known: true } : { name: storedClient(ip), known: false };
}

/** Stages a new code for a phone and returns the seconds until another may be sent; throws 429 RATE_LIMIT past the limits. */
export async function sendCode(phone: string, client: Client, requestId: string): Promise<number> {
  const code = config.OTP_FIXED_CODE ?? randomDigits(codeDigits);
  const place = await placeOf(phone, client);
  const { id, retryAfterSeconds } = await inTurn(`codes ${place.name}`, () =>
    transaction(async (tx) => {
      const sent = await insertOtp(tx, {
        phone,
        hash: keyedHash("otp", otpOf(phone, code)),
        encrypted: encryptText(code, `otp:${phone}`),
        place,
        dailyLimit: unlessDisabled(config.OTP_SENDS_PER_PHONE),
        placeLimit: unlessDisabled(config.OTP_SENDS_PER_ADDRESS),
        totalLimit: unlessDisabled(config.OTP_SENDS_TOTAL),
      });
      if (sent.id !== null) await stageJob(tx, sms, { otpId: sent.id }, { requestId });
      return sent;
    }),
  );
  codes.inc({ outcome: id === null ? "refused" : "sent" });
  if (id === null) throw tooManyCodes({ retryAfterSeconds });
  return retryAfterSeconds;
}

/**
 * Consumes a phone's code, and opens a session for the token with this digest. Throws
 * 400 INVALID_CODE, 401 EXPIRED_CODE, and 429 RATE_LIMIT after too many wrong codes.
 */
export async function openSession(
  phone: string,
  code: string,
  client: Client,
  tokenDigest: Uint8Array,
  { forDashboard }: { forDashboard: boolean },
): Promise<Session> {
  const place = await placeOf(phone, client);
  const allowance = place.known ? knownGuesses : { limit: unlessDisabled(config.OTP_GUESSES_PER_ADDRESS), minutes: 15 };
  const hashes = keyedHashes("otp", otpOf(phone, code));
  const guess = await inTurn(`codes ${place.name}`, () =>
    countGuess(contended, { phone, hashes, place, ...allowance }),
  );
  if (guess.outcome === "TOO_MANY") {
    guesses.inc({ outcome: "refused" });
    throw tooManyGuesses({ retryAfterSeconds: guess.retryAfterSeconds });
  }
  if (guess.outcome !== "COMPARE") {
    guesses.inc({ outcome: "void" });
    throw guess.outcome === "EXPIRED" ? expiredCode() : invalidCode();
  }
  const right = matchesKeyedHash("otp", otpOf(phone, code), guess.hash);
  guesses.inc({ outcome: right ? "right" : "wrong" });
  if (!right) throw invalidCode();
  const phoneHashes = keyedHashes("phone", phone);
  const session = await insertSession(sql, guess.id, { phoneHashes, tokenDigest, forDashboard, place });
  if (!session) throw invalidCode();
  return session;
}
