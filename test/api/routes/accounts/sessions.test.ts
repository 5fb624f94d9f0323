import { afterAll, describe, expect, test } from "@jest/globals";
import { decodeJwt } from "jose";
import type { Reply } from "../../../support/api.js";

const adminPhone = "+79990000001";
process.env["ADMIN_PHONES"] = adminPhone;
process.env["TRUST_PROXY"] = "1";
process.env["RATE_LIMIT_ADDRESS"] = "1000000";

const { bakeryProfile, newPhone } = await import("../../../support/cast.js");
const { outcome, tally, times, startLogins } = await import("../../../support/logins.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");

const { client, stop, refresh, logout, logIn } = await startLogins();

afterAll(async () => {
  await stop();
  await closeDatabase();
});

const ageRotation = (interval: string) =>
  sql`update refresh_tokens set rotated_at = rotated_at - ${interval}::interval where rotated_at is not null`;

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
    const { updateAdmin } = await import("../../../../sql/queries/users.js");
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
    const { deleteExpiredRefreshTokens } = await import("../../../../sql/queries/sessions.js");
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
});
