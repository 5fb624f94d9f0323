import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { decodeJwt } from "jose";
import type { Client, Reply } from "../support/api.js";

const adminPhone = "+79990000001";
process.env["ADMIN_PHONES"] = adminPhone;
process.env["TRUST_PROXY"] = "1";
process.env["RATE_LIMIT_ADDRESS"] = "1000000";
process.env["OTP_SENDS_PER_ADDRESS"] = "4";
process.env["OTP_SENDS_TOTAL"] = "1000";

const { startApi } = await import("../support/api.js");
const { bakeryProfile, newPhone, user: signedIn } = await import("../support/cast.js");
const { open } = await import("../../lib/crypto.js");
const { isServiceId } = await import("../../lib/service-id.js");
const { closeDatabase, sql } = await import("../../sql/db.js");

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

beforeEach(async () => {
  await sql`delete from otp_send_counts`;
});

let addresses = 0;

/** Asks for a code, each time from another address unless one is given. */
const send = (phone: string, address = `10.0.${(addresses += 1) >> 8}.${addresses & 255}`) =>
  client.post("/api/v1/auth/otp/send", { phone }, { headers: { "x-forwarded-for": address } });

const verify = (phone: string, code: string) => client.post("/api/v1/auth/otp/verify", { phone, code });
const refresh = (refreshToken: string) => client.post("/api/v1/auth/token/refresh", { refreshToken });
const logout = (refreshToken: string) => client.post("/api/v1/auth/logout", { refreshToken });
const times = <T>(count: number, work: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => work(n));
const outcome = ({ status, body }: Reply) => `${status} ${typeof body["code"] === "string" ? body["code"] : ""}`.trim();
const tally = (replies: Reply[]): Record<string, number> =>
  replies.reduce<Record<string, number>>(
    (counts, reply) => ({ ...counts, [outcome(reply)]: (counts[outcome(reply)] ?? 0) + 1 }),
    {},
  );

/** The code that the SMS to this phone would carry. */
async function codeOf(phone: string): Promise<string> {
  const [row] = await sql<{ sealed: string | null }[]>`select sealed_code as "sealed" from otp where phone = ${phone}`;
  if (!row?.sealed) throw new Error("no code is on its way to this phone");
  return open(row.sealed, `otp:${phone}`);
}

async function newCode(phone: string): Promise<string> {
  expect(outcome(await send(phone))).toBe("200");
  return codeOf(phone);
}

const wrong = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, "0");

async function logIn(phone: string): Promise<Reply> {
  const reply = await verify(phone, await newCode(phone));
  expect(outcome(reply)).toBe("200");
  return reply;
}

/** Moves everything that is known of a phone's codes into the past. */
const age = (phone: string, interval: string) => sql`
  update otp set
    expires_at = expires_at - ${interval}::interval,
    sends = (select array_agg(at - ${interval}::interval order by at desc) from unnest(sends) as at),
    guesses_since = guesses_since - ${interval}::interval
  where phone = ${phone}`;

const ageRotation = (interval: string) =>
  sql`update refresh_tokens set rotated_at = rotated_at - ${interval}::interval where rotated_at is not null`;

describe("POST /auth/otp/send", () => {
  test("answers the same for a phone that is known and one that is not", async () => {
    const known = await signedIn(client);
    const replies = [await send(known.phone), await send(newPhone())];
    for (const reply of replies) {
      expect(reply.status).toBe(200);
      expect(reply.body).toEqual({ message: expect.any(String), retryAfterSeconds: 60 });
    }
    expect(replies[0]?.text).toBe(replies[1]?.text);
  });

  test("stages the SMS with the code, by id only, under the request's id", async () => {
    const phone = newPhone();
    const requestId = randomUUID();
    await client.post("/api/v1/auth/otp/send", { phone }, { headers: { "x-request-id": requestId } });
    const [job] = await sql<{ queue: string; payload: object; otpId: string }[]>`
      select queue, payload, (select id from otp where phone = ${phone}) as "otpId"
      from staged_jobs where request_id = ${requestId}`;
    expect(job).toMatchObject({ queue: "sms", payload: { otpId: job?.otpId } });
  });

  test("keeps the code as a keyed hash and a sealed copy only", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    expect(code).toMatch(/^\d{6}$/);
    const [row] = await sql<{ text: string }[]>`select otp::text as text from otp where phone = ${phone}`;
    expect(row?.text.replaceAll(phone, "")).not.toContain(code);
  });

  test("sends 3 codes per phone in 5 minutes, and says when the next can be sent", async () => {
    const phone = newPhone();
    expect((await send(phone)).body["retryAfterSeconds"]).toBe(60);
    await age(phone, "100 seconds");
    expect((await send(phone)).body["retryAfterSeconds"]).toBe(60);
    const third = await send(phone);
    expect(third.body["retryAfterSeconds"]).toBeGreaterThan(190);
    expect(third.body["retryAfterSeconds"]).toBeLessThanOrEqual(200);

    const fourth = await send(phone);
    expect(outcome(fourth)).toBe("429 RATE_LIMIT");
    expect(fourth.body["retryAfterSeconds"]).toBeGreaterThan(190);
    expect(fourth.body["retryAfterSeconds"]).toBeLessThanOrEqual(200);
    expect(fourth.headers.get("retry-after")).toBe(String(fourth.body["retryAfterSeconds"]));

    await age(phone, "201 seconds");
    expect(tally([await send(phone), await send(phone)])).toEqual({ "200": 1, "429 RATE_LIMIT": 1 });
  });

  test("sends 3 codes, also when 20 are asked for at once", async () => {
    const phone = newPhone();
    const replies = await Promise.all(times(20, () => send(phone)));
    expect(tally(replies)).toEqual({ "200": 3, "429 RATE_LIMIT": 17 });
    const [jobs] = await sql`
      select count(*)::integer as count from staged_jobs
      where queue = 'sms' and payload ->> 'otpId' = (select id::text from otp where phone = ${phone})`;
    expect(jobs).toEqual({ count: 1 });
  });

  test("keeps the limit per phone over a login and over refused sends", async () => {
    const phone = newPhone();
    await logIn(phone);
    await logIn(phone);
    await logIn(phone);
    const refused = await Promise.all(times(5, () => send(phone)));
    expect(tally(refused)).toEqual({ "429 RATE_LIMIT": 5 });
    const [row] = await sql`select cardinality(sends) as sends from otp where phone = ${phone}`;
    expect(row).toEqual({ sends: 3 });
  });

  test("limits the codes per address, and counts an IPv6 network as one", async () => {
    expect(tally(await Promise.all(times(6, () => send(newPhone(), "192.0.2.7"))))).toEqual({
      "200": 4,
      "429 RATE_LIMIT": 2,
    });
    expect(outcome(await send(newPhone(), "192.0.2.8"))).toBe("200");
    expect(tally(await Promise.all(times(6, (n) => send(newPhone(), `2001:db8::${n + 1}`))))).toEqual({
      "200": 4,
      "429 RATE_LIMIT": 2,
    });
    expect(outcome(await send(newPhone(), "2001:db8:0:1::1"))).toBe("200");

    await sql`update otp_send_counts set window_start = window_start - interval '5 minutes'`;
    expect(outcome(await send(newPhone(), "192.0.2.7"))).toBe("200");
  });

  test("limits the codes of the whole deployment", async () => {
    await send(newPhone());
    await sql`update otp_send_counts set sends = 998 where counter = 'total'`;
    const replies = await Promise.all(times(5, () => send(newPhone())));
    expect(tally(replies)).toEqual({ "200": 2, "429 RATE_LIMIT": 3 });
    for (const { status, body } of replies) {
      if (status === 429) expect(body["retryAfterSeconds"]).toBeLessThanOrEqual(300);
    }
  });

  test("a refused send makes no code", async () => {
    await Promise.all(times(4, () => send(newPhone(), "192.0.2.9")));
    const phone = newPhone();
    expect(outcome(await send(phone, "192.0.2.9"))).toBe("429 RATE_LIMIT");
    expect(await sql`select id from otp where phone = ${phone}`).toHaveLength(0);
  });

  test.each([
    ["no phone", {}],
    ["no plus", { phone: "79991234567" }],
    ["another country", { phone: "+19991234567" }],
    ["a digit too few", { phone: "+7999123456" }],
    ["a digit too many", { phone: "+799912345678" }],
    ["a line break after it", { phone: "+79991234567\n" }],
    ["other digits", { phone: "+7٩٩٩١٢٣٤٥٦٧" }],
    ["NUL", { phone: "+7999123456\u0000" }],
    ["a number", { phone: 79991234567 }],
    ["no object", []],
    ["null", null],
    ["broken JSON", '{"phone":'],
  ])("%s: 400 BAD_REQUEST", async (_name, body) => {
    expect(outcome(await client.post("/api/v1/auth/otp/send", body === null ? "null" : body))).toBe("400 BAD_REQUEST");
  });
});

describe("POST /auth/otp/verify", () => {
  test("gives tokens, and makes the user at the first login only", async () => {
    const phone = newPhone();
    const first = await logIn(phone);
    expect(first.body).toEqual({
      accessToken: expect.any(String),
      refreshToken: expect.stringMatching(/^[\w-]{43}$/),
      tokenType: "Bearer",
      expiresIn: 900,
    });
    expect(first.headers.get("cache-control")).toBe("no-store");
    const second = await logIn(phone);
    const subjects = [first, second].map((reply) => decodeJwt(reply.string("accessToken")).sub);
    expect(subjects[0]).toBe(subjects[1]);

    const [user] = await sql<{ id: string; serviceId: string }[]>`
      select id, service_id as "serviceId" from users where phone = ${phone}`;
    expect(user?.id).toBe(subjects[0]);
    expect(isServiceId(user?.serviceId ?? "")).toBe(true);
    expect(outcome(await client.as(second.string("accessToken")).get("/api/v1/users/me"))).toBe("200");
  });

  test("keeps of a refresh token only its digest", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const rows = await sql<{ text: string }[]>`select refresh_tokens::text as text from refresh_tokens`;
    const hex = Buffer.from(token, "base64url").toString("hex");
    for (const { text } of rows) {
      expect(text).not.toContain(token);
      expect(text).not.toContain(hex);
    }
  });

  test("never sent, wrong, used: 400 INVALID_CODE", async () => {
    const phone = newPhone();
    expect(outcome(await verify(phone, "123456"))).toBe("400 INVALID_CODE");
    const code = await newCode(phone);
    expect(outcome(await verify(phone, wrong(code)))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(newPhone(), code))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, code))).toBe("200");
    expect(outcome(await verify(phone, code))).toBe("400 INVALID_CODE");
  });

  test.each(["", "12345", "1234567", "abcdef", "٠٠٠٠٠٠", "\u0000", "\ud800"])("%j is a wrong code", async (text) => {
    const phone = newPhone();
    await newCode(phone);
    expect(outcome(await verify(phone, text))).toBe("400 INVALID_CODE");
  });

  test("a new code replaces the old one", async () => {
    const phone = newPhone();
    const old = await newCode(phone);
    let fresh = await newCode(phone);
    if (fresh === old) fresh = await newCode(phone);
    expect(outcome(await verify(phone, old))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, fresh))).toBe("200");
  });

  test("after 5 minutes: 401 EXPIRED_CODE, also for a wrong code, and so for a day", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    await age(phone, "299 seconds");
    expect(outcome(await verify(phone, wrong(code)))).toBe("400 INVALID_CODE");
    await age(phone, "2 seconds");
    expect(outcome(await verify(phone, code))).toBe("401 EXPIRED_CODE");
    expect(outcome(await verify(phone, wrong(code)))).toBe("401 EXPIRED_CODE");
    await age(phone, "23 hours");
    const { deleteOldOtp } = await import("../../sql/queries/otp.js");
    await deleteOldOtp(sql, 1_000);
    expect(outcome(await verify(phone, code))).toBe("401 EXPIRED_CODE");
    await age(phone, "2 hours");
    await deleteOldOtp(sql, 1_000);
    expect(outcome(await verify(phone, code))).toBe("400 INVALID_CODE");
  });

  test("5 wrong guesses void the code: the sixth fails although it is right", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    for (const guess of times(5, () => wrong(code)))
      expect(outcome(await verify(phone, guess))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, code))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, await newCode(phone)))).toBe("200");
  });

  test("the fifth guess may be the right one", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    for (const guess of times(4, () => wrong(code))) await verify(phone, guess);
    expect(outcome(await verify(phone, code))).toBe("200");
  });

  test("of 1,000 guesses at once 5 are compared at most", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    const replies = await Promise.all(times(1_000, () => verify(phone, wrong(code))));
    expect(tally(replies)).toEqual({ "400 INVALID_CODE": 1_000 });
    const [row] = await sql`select tries, wrong_guesses as "wrongGuesses" from otp where phone = ${phone}`;
    expect(row).toEqual({ tries: 5, wrongGuesses: 5 });
    expect(outcome(await verify(phone, code))).toBe("400 INVALID_CODE");
  });

  test("a right code that arrives 20 times at once logs in once", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    const replies = await Promise.all(times(20, () => verify(phone, code)));
    expect(tally(replies)).toEqual({ "200": 1, "400 INVALID_CODE": 19 });
    const [counts] = await sql`
      select count(distinct users.id)::integer as users, count(sessions.id)::integer as sessions
      from users join sessions on sessions.user_id = users.id where phone = ${phone}`;
    expect(counts).toEqual({ users: 1, sessions: 1 });
  });

  test("50 wrong guesses a day lock the phone across codes, for verifying and for sending", async () => {
    const phone = newPhone();
    await newCode(phone);
    await sql`update otp set wrong_guesses = 48 where phone = ${phone}`;
    const code = await codeOf(phone);
    expect(outcome(await verify(phone, wrong(code)))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, wrong(code)))).toBe("400 INVALID_CODE");
    const locked = await verify(phone, code);
    expect(outcome(locked)).toBe("429 RATE_LIMIT");
    expect(locked.body["retryAfterSeconds"]).toBeGreaterThan(86_000);
    expect(outcome(await send(phone))).toBe("429 RATE_LIMIT");

    await age(phone, "1 day");
    expect(outcome(await verify(phone, await newCode(phone)))).toBe("200");
  });

  test("right guesses do not count as wrong ones", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    await verify(phone, wrong(code));
    await verify(phone, code);
    const [row] =
      await sql`select wrong_guesses as "wrongGuesses", sealed_code as "sealed" from otp where phone = ${phone}`;
    expect(row).toEqual({ wrongGuesses: 1, sealed: null });
  });

  test.each([
    ["no code", { phone: "+79991234567" }],
    ["no phone", { code: "123456" }],
    ["a code that is a number", { phone: "+79991234567", code: 123456 }],
    ["a bad phone", { phone: "123", code: "123456" }],
  ])("%s: 400 BAD_REQUEST", async (_name, body) => {
    expect(outcome(await client.post("/api/v1/auth/otp/verify", body))).toBe("400 BAD_REQUEST");
  });
});

describe("roles at login", () => {
  const scopeOf = (reply: Reply) => decodeJwt(reply.string("accessToken"))["scope"];

  test("a customer is a USER", async () => {
    const claims = decodeJwt((await logIn(newPhone())).string("accessToken"));
    expect(claims["scope"]).toBe("USER");
    expect(claims).not.toHaveProperty("partnerId");
  });

  test("a phone in ADMIN_PHONES is an admin", async () => {
    const reply = await logIn(adminPhone);
    expect(scopeOf(reply)).toBe("USER ADMIN");
    expect(outcome(await client.as(reply.string("accessToken")).get("/api/v1/admin/partners"))).toBe("200");
  });

  test("an admin role that was granted counts at once, and in the next token; so does its end", async () => {
    const { updateAdmin } = await import("../../sql/queries/users.js");
    const phone = newPhone();
    const tokens = await logIn(phone);
    const caller = client.as(tokens.string("accessToken"));
    expect(outcome(await caller.get("/api/v1/admin/partners"))).toBe("403 FORBIDDEN");
    expect(await updateAdmin(sql, phone, true)).toBe(true);
    expect(outcome(await caller.get("/api/v1/admin/partners"))).toBe("200");
    expect(scopeOf(await refresh(tokens.string("refreshToken")))).toBe("USER ADMIN");
    await updateAdmin(sql, phone, false);
    expect(outcome(await caller.get("/api/v1/admin/partners"))).toBe("403 FORBIDDEN");
    expect(await updateAdmin(sql, newPhone(), true)).toBe(false);
  });

  test("who logs in with the phone of a waiting partner owns it; nobody gets two", async () => {
    const phone = newPhone();
    const register = async () =>
      (await client.post("/api/v1/partners/register", { ...bakeryProfile, phone })).string("id");
    const rejected = await register();
    await sql`update partners set status = 'REJECTED' where id = ${rejected}::uuid`;
    const waiting = await register();
    const reply = await logIn(phone);
    const claims = decodeJwt(reply.string("accessToken"));
    expect(claims).toMatchObject({ scope: "USER PARTNER", partnerId: waiting });
    expect(outcome(await client.as(reply.string("accessToken")).get("/api/v1/partners/me/status"))).toBe("200");

    await logIn(phone);
    const owners = await sql<{ ownerId: string | null }[]>`
      select owner_id as "ownerId" from partners where id = any (${[rejected, waiting]}::uuid[]) order by id`;
    expect(owners.map(({ ownerId }) => ownerId)).toEqual([null, claims.sub]);
  });

  test("a partner that registers after its owner's first login is linked at the next", async () => {
    const phone = newPhone();
    await logIn(phone);
    await client.post("/api/v1/partners/register", { ...bakeryProfile, phone });
    expect(scopeOf(await logIn(phone))).toBe("USER PARTNER");
  });

  test("staff work for their partner", async () => {
    const phone = newPhone();
    const { sub = "" } = decodeJwt((await logIn(phone)).string("accessToken"));
    const partnerId = (await client.post("/api/v1/partners/register", bakeryProfile)).string("id");
    await sql`insert into partner_staff (user_id, partner_id) values (${sub}::uuid, ${partnerId}::uuid)`;
    expect(decodeJwt((await logIn(phone)).string("accessToken"))).toMatchObject({ scope: "USER PARTNER", partnerId });
  });
});

describe("POST /auth/token/refresh", () => {
  test("gives new tokens for the same user, again and again", async () => {
    const login = await logIn(newPhone());
    const seen = new Set<string>();
    let token = login.string("refreshToken");
    while (seen.size < 4) {
      seen.add(token);
      const reply = await refresh(token);
      expect(outcome(reply)).toBe("200");
      expect(reply.body).toMatchObject({ tokenType: "Bearer", expiresIn: 900 });
      expect(decodeJwt(reply.string("accessToken")).sub).toBe(decodeJwt(login.string("accessToken")).sub);
      token = reply.string("refreshToken");
      expect(seen.has(token)).toBe(false);
    }
  });

  test("gives the same successor once more within 10 seconds, and no third time", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const first = await refresh(token);
    const second = await refresh(token);
    expect(second.string("refreshToken")).toBe(first.string("refreshToken"));
    expect(outcome(await refresh(token))).toBe("401 INVALID_REFRESH_TOKEN");
    expect(outcome(await refresh(first.string("refreshToken")))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("a replayed answer can be gone on with", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    await refresh(token);
    const answer = await refresh(token);
    expect(outcome(await refresh(answer.string("refreshToken")))).toBe("200");
  });

  test("a stolen token used after 10 seconds ends the whole session, and no other", async () => {
    const phone = newPhone();
    const other = (await logIn(phone)).string("refreshToken");
    const stolen = (await logIn(phone)).string("refreshToken");
    const successor = (await refresh(stolen)).string("refreshToken");
    await ageRotation("11 seconds");
    expect(outcome(await refresh(stolen))).toBe("401 INVALID_REFRESH_TOKEN");
    expect(outcome(await refresh(successor))).toBe("401 INVALID_REFRESH_TOKEN");
    expect(outcome(await refresh(other))).toBe("200");
  });

  test("a token whose successor was used was not lost: it ends the session at once", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const second = (await refresh(token)).string("refreshToken");
    const third = (await refresh(second)).string("refreshToken");
    expect(outcome(await refresh(token))).toBe("401 INVALID_REFRESH_TOKEN");
    expect(outcome(await refresh(third))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("20 at once: one exchange, one repetition, and then the session is over", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const replies = await Promise.all(times(20, () => refresh(token)));
    expect(tally(replies)).toEqual({ "200": 2, "401 INVALID_REFRESH_TOKEN": 18 });
    const [first, second] = replies.filter(({ status }) => status === 200).map((reply) => reply.string("refreshToken"));
    expect(first).toBe(second);
    expect(outcome(await refresh(first ?? ""))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("two at once: both get the same successor, and the session lives", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const [first, second] = await Promise.all([refresh(token), refresh(token)]);
    expect(first.string("refreshToken")).toBe(second.string("refreshToken"));
    expect(outcome(await refresh(first.string("refreshToken")))).toBe("200");
  });

  test("a token is good for 30 days", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    await sql`update refresh_tokens set expires_at = expires_at - interval '30 days' + interval '1 minute' where rotated_at is null`;
    const successor = (await refresh(token)).string("refreshToken");
    await sql`update refresh_tokens set expires_at = expires_at - interval '30 days' where rotated_at is null`;
    expect(outcome(await refresh(successor))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("a deleted account gets no more tokens", async () => {
    const phone = newPhone();
    const token = (await logIn(phone)).string("refreshToken");
    await sql`update users set deleted_at = now() where phone = ${phone}`;
    expect(outcome(await refresh(token))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("unknown tokens: 401 INVALID_REFRESH_TOKEN; an access token is one", async () => {
    const login = await logIn(newPhone());
    const unknown = [
      "x",
      "\u0000",
      "\ud800",
      Buffer.alloc(32).toString("base64url"),
      `${login.string("refreshToken")}=`,
      login.string("accessToken").slice(0, 500),
    ];
    for (const token of unknown) expect(outcome(await refresh(token))).toBe("401 INVALID_REFRESH_TOKEN");
    expect(outcome(await refresh(login.string("refreshToken")))).toBe("200");
  });

  test.each([
    ["nothing", {}],
    ["an empty token", { refreshToken: "" }],
    ["a number", { refreshToken: 1 }],
    ["null", { refreshToken: null }],
  ])("%s: 400 BAD_REQUEST", async (_name, body) => {
    expect(outcome(await client.post("/api/v1/auth/token/refresh", body))).toBe("400 BAD_REQUEST");
    expect(outcome(await client.post("/api/v1/auth/logout", body))).toBe("400 BAD_REQUEST");
  });
});

describe("POST /auth/logout", () => {
  test("ends the session; a second time: 400 INVALID_TOKEN", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    expect(outcome(await logout(token))).toBe("204");
    expect(outcome(await logout(token))).toBe("400 INVALID_TOKEN");
    expect(outcome(await refresh(token))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("20 at once: one of them did it", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const replies = await Promise.all(times(20, () => logout(token)));
    expect(tally(replies)).toEqual({ "204": 1, "400 INVALID_TOKEN": 19 });
  });

  test("leaves the user's other sessions alone", async () => {
    const phone = newPhone();
    const here = (await logIn(phone)).string("refreshToken");
    const there = (await logIn(phone)).string("refreshToken");
    await logout(here);
    expect(outcome(await refresh(there))).toBe("200");
  });

  test("a token that was exchanged before is used again: the session ends all the same", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const successor = (await refresh(token)).string("refreshToken");
    expect(outcome(await logout(token))).toBe("400 INVALID_TOKEN");
    expect(outcome(await refresh(successor))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("logging out while refreshing leaves no session behind", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const [left, refreshed] = await Promise.all([logout(token), refresh(token)]);
    expect(["204", "400 INVALID_TOKEN"]).toContain(outcome(left));
    if (refreshed.status === 200)
      expect(outcome(await refresh(refreshed.string("refreshToken")))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("unknown tokens: 400 INVALID_TOKEN", async () => {
    expect(outcome(await logout("unknown"))).toBe("400 INVALID_TOKEN");
  });
});

describe("what is kept", () => {
  test("expired tokens and the sessions that have none left are forgotten, live ones are not", async () => {
    const { deleteExpiredRefreshTokens } = await import("../../sql/queries/sessions.js");
    const phone = newPhone();
    const live = (await logIn(phone)).string("refreshToken");
    const other = newPhone();
    await logIn(other);
    const sessionsOf = (of: string) => sql`
      select sessions.id from sessions join users on users.id = sessions.user_id where phone = ${of}`;
    await sql`
      update refresh_tokens set expires_at = now() - interval '1 second'
      where session_id in (select sessions.id from sessions join users on users.id = sessions.user_id where phone = ${other})`;
    // a session of which one token of two has expired goes on
    const successor = (await refresh(live)).string("refreshToken");
    await sql`update refresh_tokens set expires_at = now() - interval '1 second' where rotated_at is not null`;

    expect(await deleteExpiredRefreshTokens(sql, 1_000)).toBeGreaterThanOrEqual(2);
    expect(await deleteExpiredRefreshTokens(sql, 1_000)).toBe(0);
    expect(await sessionsOf(other)).toHaveLength(0);
    expect(await sessionsOf(phone)).toHaveLength(1);
    expect(outcome(await refresh(successor))).toBe("200");
  });

  test("counters of past windows and copies of codes that expired unsent are erased", async () => {
    const { deleteOldOtpSendCounts, eraseExpiredCodes } = await import("../../sql/queries/otp.js");
    const [expired, live] = [newPhone(), newPhone()];
    await newCode(expired);
    await newCode(live);
    await age(expired, "6 minutes");
    await eraseExpiredCodes(sql);
    await expect(codeOf(expired)).rejects.toThrow();
    expect(await codeOf(live)).toMatch(/^\d{6}$/);

    await sql`update otp_send_counts set window_start = window_start - interval '2 hours'`;
    expect(await deleteOldOtpSendCounts(sql, 1_000)).toBeGreaterThan(0);
    expect(await sql`select counter from otp_send_counts`).toHaveLength(0);
  });
});
