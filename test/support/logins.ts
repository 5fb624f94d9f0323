import { expect } from "@jest/globals";
import { decryptText } from "../../lib/security/crypto.js";
import { sql } from "../../sql/db.js";
import { outcome, startApi, type Reply } from "./api.js";

/** Runs the API with a client for logging in. `address` needs TRUST_PROXY=1. */
export async function startLogins() {
  const { client, stop } = await startApi();
  let addresses = 0;

  /** Requests a code, each time from a new address unless one is given. */
  const send = (
    phone: string,
    address = `10.0.${(addresses += 1) >> 8}.${addresses & 255}`,
    fields: Record<string, unknown> = {},
  ) => client.post("/api/v1/auth/otp/send", { phone, ...fields }, { headers: { "x-forwarded-for": address } });

  const verify = (phone: string, code: string, address = "192.0.2.1", fields: Record<string, unknown> = {}) =>
    client.post("/api/v1/auth/otp/verify", { phone, code, ...fields }, { headers: { "x-forwarded-for": address } });
  const refresh = (refreshToken: string) => client.post("/api/v1/auth/token/refresh", { refreshToken });
  const logout = (refreshToken: string) => client.post("/api/v1/auth/logout", { refreshToken });

  async function newCode(phone: string, address?: string): Promise<string> {
    expect(outcome(await send(phone, address))).toBe("200");
    return codeOf(phone);
  }

  async function logIn(phone: string): Promise<Reply> {
    const reply = await verify(phone, await newCode(phone));
    expect(outcome(reply)).toBe("200");
    return reply;
  }

  return { client, stop, send, verify, refresh, logout, newCode, logIn };
}

/** Another code than this one. */
export const wrong = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, "0");

export const times = <T>(count: number, work: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => work(n));

export const tally = (replies: Reply[]): Record<string, number> =>
  replies.reduce<Record<string, number>>(
    (counts, reply) => ({ ...counts, [outcome(reply)]: (counts[outcome(reply)] ?? 0) + 1 }),
    {},
  );

/** The code that is about to be sent to this phone. */
export async function codeOf(phone: string): Promise<string> {
  const [row] = await sql<
    { encrypted: string | null }[]
  >`select encrypted_code as "encrypted" from otp where phone = ${phone}`;
  if (!row?.encrypted) throw new Error("no code is on its way to this phone");
  return decryptText(row.encrypted, `otp:${phone}`);
}

/** Moves all times of a phone's codes into the past. */
export const age = (phone: string, interval: string) => sql`
  update otp set
    expires_at = expires_at - ${interval}::interval,
    sends = (select array_agg(at - ${interval}::interval order by at desc) from unnest(sends) as at),
    guesses_since = guesses_since - ${interval}::interval
  where phone = ${phone}`;
