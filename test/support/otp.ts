import { encryptText, keyedHash } from "../../lib/security/crypto.js";
import { sql } from "../../sql/db.js";
import { insertOtp } from "../../sql/queries/otp.js";
import { newPhone } from "./cast.js";

/** Makes a login code that is to be sent, and returns its id. */
export async function newOtp(phone = newPhone(), code = "012345"): Promise<string> {
  const { id } = await insertOtp(sql, {
    phone,
    hash: keyedHash("otp", `${phone} ${code}`),
    encrypted: encryptText(code, `otp:${phone}`),
    place: { name: "192.0.2.1", known: false },
    dailyLimit: null,
    placeLimit: null,
    totalLimit: null,
  });
  if (id === null) throw new Error("no code was made");
  return id;
}
