import { decryptText } from "../lib/security/crypto.js";
import { PermanentError } from "../lib/process/errors.js";
import { log as processLog } from "../lib/process/log.js";
import { codeText, sendSms, SmsRefused } from "../lib/messaging/sms.js";
import { recordCall } from "../lib/outbound/vendor-calls.js";
import { sql } from "../sql/db.js";
import { eraseOutgoingCode, claimOutgoingCode, releaseOutgoingCode } from "../sql/queries/otp.js";
import { claimForRun } from "./claim.js";
import type { Handler } from "./consume.js";

/**
 * Sends a login code at most once. The code is claimed before it is sent, so a second run of the job finds nothing to send,
 * even when the first was cut short: a user would rather ask for a new code than get two. Only a code that the gateway has
 * certainly not accepted is sent again, while it is valid.
 */
export const sendCode: Handler<{ otpId: string }> = async ({ payload: { otpId }, log, signal }) => {
  const code = await claimForRun(signal, (token) => claimOutgoingCode(sql, otpId, token));
  if (code === null) {
    log.info({ otpId }, "code not sent: it was sent or claimed before, used, replaced or has expired");
    return;
  }
  try {
    const text = codeText(code.locale, decryptText(code.encrypted, `otp:${code.phone}`));
    // not the job's log, which the dashboard shows: with SMS_SENDER=log the line has the code
    await sendSms(code.phone, text, processLog);
    recordCall("SMS", false);
  } catch (error) {
    recordCall("SMS", true);
    if (error instanceof SmsRefused) {
      await releaseOutgoingCode(sql, otpId);
      throw error;
    }
    await eraseOutgoingCode(sql, otpId, false);
    throw new PermanentError(
      `the code may or may not have been sent: ${error instanceof Error ? error.message : "unknown"}`,
    );
  }
  await eraseOutgoingCode(sql, otpId, true);
};
