import { randomUUID } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { decodeJwt } from "jose";

process.env["TRUST_PROXY"] = "1";
process.env["RATE_LIMIT_ADDRESS"] = "1000000";
process.env["OTP_SENDS_PER_ADDRESS"] = "4";
process.env["OTP_SENDS_TOTAL"] = "1000";

const { newPhone, user: signedIn } = await import("../../../support/cast.js");
const { age, codeOf, outcome, tally, times, startLogins } = await import("../../../support/logins.js");
const { isServiceId } = await import("../../../../lib/domain/service-id.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");

const { client, stop, send, verify, newCode, logIn } = await startLogins();

afterAll(async () => {
  await stop();
  await closeDatabase();
});

beforeEach(async () => {
  await sql`delete from otp_send_counts`;
});

const wrong = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, "0");

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
    const { deleteOldOtp } = await import("../../../../sql/queries/otp.js");
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

describe("what is kept", () => {
  test("counters of past windows and copies of codes that expired unsent are erased", async () => {
    const { deleteOldOtpSendCounts, eraseExpiredCodes } = await import("../../../../sql/queries/otp.js");
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
