import { randomUUID } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { decodeJwt } from "jose";

process.env["TRUST_PROXY"] = "1";
process.env["OTP_SENDS_PER_ADDRESS"] = "4";
process.env["OTP_SENDS_TOTAL"] = "1000";

const { newPhone, user: signedIn } = await import("../../../support/cast.js");
const { outcome } = await import("../../../support/api.js");
const { age, codeOf, tally, times, startLogins, wrong } = await import("../../../support/logins.js");
const { isServiceId } = await import("../../../../lib/domain/service-id.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { storedClient } = await import("../../../../api/http/client-network.js");

const { client, stop, send, verify, newCode, logIn } = await startLogins();

afterAll(async () => {
  await stop();
  await closeDatabase();
});

beforeEach(async () => {
  await sql`delete from action_counts`;
});

describe("POST /auth/otp/send", () => {
  test("answers the same for known and unknown phones", async () => {
    const known = await signedIn(client);
    const replies = [await send(known.phone), await send(newPhone())];
    for (const reply of replies) {
      expect(reply.status).toBe(200);
      expect(reply.body).toEqual({ message: expect.any(String), retryAfterSeconds: 60 });
    }
    expect(replies[0]?.text).toBe(replies[1]?.text);
  });

  test("stages the SMS by the code's id only, with the request's id", async () => {
    const phone = newPhone();
    const requestId = randomUUID();
    await client.post("/api/v1/auth/otp/send", { phone }, { headers: { "x-request-id": requestId } });
    const [job] = await sql<{ queue: string; payload: object; otpId: string }[]>`
      select queue, payload, (select id from otp where phone = ${phone}) as "otpId"
      from staged_jobs where request_id = ${requestId}`;
    expect(job).toMatchObject({ queue: "sms", payload: { otpId: job?.otpId } });
  });

  test("stores the code only as a keyed hash and an encrypted copy", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    expect(code).toMatch(/^\d{6}$/);
    const [row] = await sql<{ text: string }[]>`select otp::text as text from otp where phone = ${phone}`;
    expect(row?.text.replaceAll(phone, "")).not.toContain(code);
  });

  test("sends 3 codes per phone in 5 minutes, and says when the next is allowed", async () => {
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

  test("sends 3 codes when 20 are requested at once", async () => {
    const phone = newPhone();
    const replies = await Promise.all(times(20, () => send(phone)));
    expect(tally(replies)).toEqual({ "200": 3, "429 RATE_LIMIT": 17 });
    const [jobs] = await sql`
      select count(*)::integer as count from staged_jobs
      where queue = 'sms' and payload ->> 'otpId' = (select id::text from otp where phone = ${phone})`;
    expect(jobs).toEqual({ count: 1 });
  });

  test("counts codes per phone across logins and refused requests", async () => {
    const phone = newPhone();
    await logIn(phone);
    await logIn(phone);
    await logIn(phone);
    const refused = await Promise.all(times(5, () => send(phone)));
    expect(tally(refused)).toEqual({ "429 RATE_LIMIT": 5 });
    const [row] = await sql`select cardinality(sends) as sends from otp where phone = ${phone}`;
    expect(row).toEqual({ sends: 3 });
  });

  test("limits the codes per address, and counts an IPv6 network as one address", async () => {
    expect(tally(await Promise.all(times(6, () => send(newPhone(), "192.0.2.7"))))).toEqual({
      "200": 4,
      "429 RATE_LIMIT": 2,
    });
    expect(outcome(await send(newPhone(), "192.0.2.8"))).toBe("200");
    expect(tally(await Promise.all(times(6, (n) => send(newPhone(), `2001:db8::${n + 1}`))))).toEqual({
      "200": 4,
      "429 RATE_LIMIT": 2,
    });
    expect(outcome(await send(newPhone(), "2001:db8:0:100::1"))).toBe("200");

    await sql`update action_counts set ends_at = ends_at - interval '5 minutes'`;
    expect(outcome(await send(newPhone(), "192.0.2.7"))).toBe("200");
  });

  test("limits the codes of the whole deployment", async () => {
    await send(newPhone());
    await sql`update action_counts set times = 998 where action = 'code'`;
    const replies = await Promise.all(times(5, () => send(newPhone())));
    expect(tally(replies)).toEqual({ "200": 2, "429 RATE_LIMIT": 3 });
    for (const { status, body } of replies) {
      if (status === 429) expect(body["retryAfterSeconds"]).toBeLessThanOrEqual(300);
    }
  });

  test("creates no code when it refuses to send one", async () => {
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
    ["an array", []],
    ["null", null],
    ["broken JSON", '{"phone":'],
  ])("%s: 400 BAD_REQUEST", async (_name, body) => {
    expect(outcome(await client.post("/api/v1/auth/otp/send", body === null ? "null" : body))).toBe("400 BAD_REQUEST");
  });
});

describe("POST /auth/otp/verify", () => {
  test("returns tokens, and creates the user at the first login only", async () => {
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

  test("stores a refresh token only as its digest", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const rows = await sql<{ text: string }[]>`select refresh_tokens::text as text from refresh_tokens`;
    const hex = Buffer.from(token, "base64url").toString("hex");
    for (const { text } of rows) {
      expect(text).not.toContain(token);
      expect(text).not.toContain(hex);
    }
  });

  test("a code that was never sent, is wrong or is used: 400 INVALID_CODE", async () => {
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

  test("a code older than 5 minutes: 401 EXPIRED_CODE for a day, even when it is wrong", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    await age(phone, "299 seconds");
    expect(outcome(await verify(phone, wrong(code)))).toBe("400 INVALID_CODE");
    await age(phone, "2 seconds");
    expect(outcome(await verify(phone, code))).toBe("401 EXPIRED_CODE");
    expect(outcome(await verify(phone, wrong(code)))).toBe("401 EXPIRED_CODE");
    await age(phone, "23 hours");
    const { deleteOldOtp } = await import("../../../../sql/queries/otp.js");
    await deleteOldOtp(sql, 1_000);
    expect(outcome(await verify(phone, code))).toBe("401 EXPIRED_CODE");
    await age(phone, "2 hours");
    await deleteOldOtp(sql, 1_000);
    expect(outcome(await verify(phone, code))).toBe("400 INVALID_CODE");
  });

  test("5 wrong guesses void the code: the correct sixth guess fails", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    for (const guess of times(5, () => wrong(code)))
      expect(outcome(await verify(phone, guess))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, code))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, await newCode(phone)))).toBe("200");
  });

  test("the fifth guess may be correct", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    for (const guess of times(4, () => wrong(code))) await verify(phone, guess);
    expect(outcome(await verify(phone, code))).toBe("200");
  });

  test("at most 5 of 1,000 concurrent guesses are compared", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    const replies = await Promise.all(times(1_000, () => verify(phone, wrong(code))));
    expect(tally(replies)).toEqual({ "400 INVALID_CODE": 1_000 });
    const [row] = await sql`select guesses, wrong_guesses as "wrongGuesses" from otp where phone = ${phone}`;
    expect(row).toEqual({ guesses: { [storedClient("192.0.2.1")]: 5 }, wrongGuesses: 5 });
    expect(outcome(await verify(phone, code))).toBe("400 INVALID_CODE");
  });

  test("a correct code that arrives 20 times at once logs in once", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    const replies = await Promise.all(times(20, () => verify(phone, code)));
    expect(tally(replies)).toEqual({ "200": 1, "400 INVALID_CODE": 19 });
    const [counts] = await sql`
      select count(distinct users.id)::integer as users, count(sessions.id)::integer as sessions
      from users join sessions on sessions.user_id = users.id where phone = ${phone}`;
    expect(counts).toEqual({ users: 1, sessions: 1 });
  });

  test("correct guesses do not count as wrong ones", async () => {
    const phone = newPhone();
    const code = await newCode(phone);
    await verify(phone, wrong(code));
    await verify(phone, code);
    const [row] =
      await sql`select wrong_guesses as "wrongGuesses", encrypted_code as "encrypted" from otp where phone = ${phone}`;
    expect(row).toEqual({ wrongGuesses: 1, encrypted: null });
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

describe("the daily purge", () => {
  test("deletes counters of past windows and copies of unsent codes that expired", async () => {
    const { eraseExpiredCodes } = await import("../../../../sql/queries/otp.js");
    const { deleteOldActionCounts } = await import("../../../../sql/queries/action-counts.js");
    const [expired, live] = [newPhone(), newPhone()];
    await newCode(expired);
    await newCode(live);
    await age(expired, "6 minutes");
    await eraseExpiredCodes(sql);
    await expect(codeOf(expired)).rejects.toThrow();
    expect(await codeOf(live)).toMatch(/^\d{6}$/);

    await sql`update action_counts set ends_at = ends_at - interval '5 minutes'`;
    expect(await deleteOldActionCounts(sql, 1_000)).toBeGreaterThan(0);
    expect(await sql`select action from action_counts`).toHaveLength(0);
  });
});
