import { expect } from "@jest/globals";
import { decryptText } from "../../lib/security/crypto.js";
import { sql } from "../../sql/db.js";
import { startApi, type Reply } from "./api.js";

/** Runs the API, and speaks to it as people who log in; for `address` it has to trust one proxy. */
export async function startLogins() {
  const { client, stop } = await startApi();
  let addresses = 0;

  /** Asks for a code, each time from another address unless one is given. */
  const send = (phone: string, address = `10.0.${(addresses += 1) >> 8}.${addresses & 255}`) =>
    client.post("/api/v1/auth/otp/send", { phone }, { headers: { "x-forwarded-for": address } });

  const verify = (phone: string, code: string) => client.post("/api/v1/auth/otp/verify", { phone, code });
  const refresh = (refreshToken: string) => client.post("/api/v1/auth/token/refresh", { refreshToken });
  const logout = (refreshToken: string) => client.post("/api/v1/auth/logout", { refreshToken });

  async function newCode(phone: string): Promise<string> {
    expect(outcome(await send(phone))).toBe("200");
    return codeOf(phone);
  }

  async function logIn(phone: string): Promise<Reply> {
    const reply = await verify(phone, await newCode(phone));
    expect(outcome(reply)).toBe("200");
    return reply;
  }

  return { client, stop, send, verify, refresh, logout, newCode, logIn };
}

export const times = <T>(count: number, work: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => work(n));

export const outcome = ({ status, body }: Reply) =>
  `${status} ${typeof body["code"] === "string" ? body["code"] : ""}`.trim();

export const tally = (replies: Reply[]): Record<string, number> =>
  replies.reduce<Record<string, number>>(
    (counts, reply) => ({ ...counts, [outcome(reply)]: (counts[outcome(reply)] ?? 0) + 1 }),
    {},
  );

/** The code that the SMS to this phone would carry. */
export async function codeOf(phone: string): Promise<string> {
  const [row] = await sql<{ sealed: string | null }[]>`select sealed_code as "sealed" from otp where phone = ${phone}`;
  if (!row?.sealed) throw new Error("no code is on its way to this phone");
  return decryptText(row.sealed, `otp:${phone}`);
}

/** Moves everything that is known of a phone's codes into the past. */
export const age = (phone: string, interval: string) => sql`
  update otp set
    expires_at = expires_at - ${interval}::interval,
    sends = (select array_agg(at - ${interval}::interval order by at desc) from unnest(sends) as at),
    guesses_since = guesses_since - ${interval}::interval
  where phone = ${phone}`;
